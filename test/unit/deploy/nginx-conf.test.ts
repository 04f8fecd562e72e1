import assert from 'node:assert/strict';
import { it } from 'node:test';
import { configurations } from '../../../deploy/nginx-conf.ts';
import { readDeployed } from '../../helpers/deploy.ts';

for (const [file, text] of Object.entries(configurations())) {
  it(`${file} is what nginx.conf.template makes of it now; otherwise: node deploy/nginx-conf.ts`, () => {
    assert.equal(readDeployed(file), text);
  });
}
