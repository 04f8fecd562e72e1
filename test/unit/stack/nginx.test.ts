import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { configureNginx, type NginxOptions, nginxTemplateValues, renderTemplate } from '../../../server/stack/nginx.ts';
import { requireTool } from '../../../server/stack/tools.ts';
import { fileTree } from '../../helpers/file-tree.ts';
import { missingTools } from '../../helpers/tools.ts';

test('fills the nginx template, and refuses a placeholder without a value or a value without a placeholder', () => {
  assert.equal(renderTemplate('{{X}}', { X: '$& $1' }), '$& $1');
  assert.equal(renderTemplate('a {{X}};\n  {{LINES}}\nb', { X: 1, LINES: 'one\ntwo' }), 'a 1;\n  one\n  two\nb');
  assert.throws(() => renderTemplate('{{X}}', {}));
  assert.throws(() => renderTemplate('', { X: 1 }));
});

test('nginx has an upstream for each worker, which serves its sessions', () => {
  const values = nginxTemplateValues(options('/tmp/x', 8080, 8081), undefined);
  assert.equal(values.ALL_SERVERS, 'server 127.0.0.1:4001 max_fails=0;\nserver 127.0.0.1:4002 max_fails=0;');
  assert.equal(values.SOURCE_ADDRESSES, '50.00% 127.0.0.2;\n* 127.0.0.1;');
  assert.equal(values.SESSIONS, '~^w0- w0;\n~^w1- w1;');
});

test('nginx accepts the generated configuration with a private key, and reports a wrong line', {
  skip: missingTools('nginx'),
}, async (t) => {
  const nginx = requireTool('nginx');
  const dir = join(fileTree(t, { 'spaces "and quotes"/file': '' }), 'spaces "and quotes"');
  await configureNginx(nginx, { ...options(dir, 8080, 8081), tls: true });
  for (const name of ['key.pem', 'nginx.conf']) assert.equal(statSync(join(dir, name)).mode & 0o077, 0, name);
  const broken = { ...options(dir, 8080, 8081), workers: [{ id: 'w0; bogus', port: 1 }] };
  await assert.rejects(configureNginx(nginx, broken), { code: 'START_FAILED', message: /\[emerg\]/ });
});

function options(dir: string, port: number, statusPort: number): NginxOptions {
  return {
    port,
    statusPort,
    tls: false,
    timeoutSeconds: 90,
    plan: { workers: 1, connectionsPerWorker: 64, openFilesPerWorker: 128, sourceAddresses: 2 },
    workers: [
      { id: 'w0', port: 4001 },
      { id: 'w1', port: 4002 },
    ],
    dir,
    logDir: dir,
  };
}
