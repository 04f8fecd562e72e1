import assert from 'node:assert/strict';
import { it } from 'node:test';
import { nodeFlags } from '../../../server/control/describe-server.ts';

it('flags keep their numbers; other values, which can be paths or secrets, are left out', () => {
  const flags = nodeFlags(
    ['--max-semi-space-size=1', '--require', '/home/ada/hook.js', '--env-file=/etc/secret'],
    ' --max-old-space-size=4096  -r ./x ',
  );
  assert.deepEqual(flags, ['--max-semi-space-size=1', '--require', '--env-file', '--max-old-space-size=4096', '-r']);
  assert.deepEqual(nodeFlags([]), []);
});
