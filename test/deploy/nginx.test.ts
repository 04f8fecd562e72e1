/** nginx's own check of the proxy's configuration for containers, as far as an nginx older than 1.27.3 can tell. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { execa } from 'execa';
import { freePorts } from '../../server/stack/ports.ts';
import { readDeployed } from '../helpers/deploy.ts';
import { tempFolder } from '../helpers/temp-folder.ts';
import { missingTools } from '../helpers/tools.ts';

it('nginx accepts nginx.compose.conf', { skip: missingTools('nginx') }, async (t) => {
  const folder = tempFolder(t);
  const [port, statusPort] = await freePorts(2);
  // Names that the check would look up, folders of the container, ports that it would open.
  const text = readDeployed('nginx.compose.conf')
    .replaceAll(/server w\d+:3100 resolve /g, 'server 127.0.0.1:3100 ')
    .replaceAll('"/tmp/', `"${folder}/`)
    .replace('0.0.0.0:8080', `127.0.0.1:${port}`)
    .replace('127.0.0.1:8081', `127.0.0.1:${statusPort}`);
  const file = join(folder, 'nginx.conf');
  writeFileSync(file, text);
  const { all, exitCode } = await execa('nginx', ['-t', '-e', 'stderr', '-c', file], { reject: false, all: true });
  assert.equal(exitCode, 0, all);
});
