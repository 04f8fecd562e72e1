/** Tests the commands of docs/guide/several-hosts.md that create a secret in advance. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { it } from 'node:test';
import { fingerprintOf, parseJoinToken } from '../../../plugin/conduct/hosts/join-token.ts';
import { readSecret } from '../../../plugin/conduct/hosts/secret-folder.ts';
import { codeBlocks, page } from '../../helpers/pages.ts';
import { tempFolder } from '../../helpers/temp-folder.ts';
import { missingTools } from '../../helpers/tools.ts';

it('the conductor accepts a secret created by openssl, which has the printed join token', {
  skip: missingTools('openssl', 'sha256sum'),
}, (t) => {
  const folder = tempFolder(t);
  const commands = codeBlocks(page('docs/guide/several-hosts.md'), 'sh').find((block) => block.startsWith('openssl '));
  assert.ok(commands);
  const joinToken = execFileSync('sh', ['-ec', commands], {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const { token, certificate } = readSecret(folder);
  const fingerprint = fingerprintOf(certificate);
  assert.deepEqual(parseJoinToken(joinToken.trim()), { host: 'conductor', port: 3401, token, fingerprint });
});
