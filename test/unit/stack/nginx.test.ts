import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { type NginxOptions, render, startNginx, templateValues } from '../../../server/stack/nginx.ts';
import { freePorts } from '../../../server/stack/ports.ts';
import { isAlive, terminate } from '../../../server/stack/state/processes.ts';
import { findTool } from '../../../server/stack/tools.ts';
import { fileTree } from '../../helpers/file-tree.ts';

test('a template gets its values, indented if they have several lines; each name has one, and each value a name', () => {
  assert.equal(render('{{X}}', { X: '$& $1' }), '$& $1');
  assert.equal(render('a {{X}};\n  {{LINES}}\nb', { X: 1, LINES: 'one\ntwo' }), 'a 1;\n  one\n  two\nb');
  assert.throws(() => render('{{X}}', {}));
  assert.throws(() => render('', { X: 1 }));
});

test('each worker has an upstream, and its sessions go there', () => {
  const values = templateValues(options('/tmp/x', 8080, 8081), undefined);
  assert.equal(values.ALL_SERVERS, 'server 127.0.0.1:4001 max_fails=0;\nserver 127.0.0.1:4002 max_fails=0;');
  assert.equal(values.SOURCE_ADDRESSES, '50.00% 127.0.0.2;\n* 127.0.0.1;');
  assert.equal(values.SESSIONS, '~^w0- w0;\n~^w1- w1;');
});

suite('nginx itself', { skip: findTool('nginx') ? false : 'nginx is not installed' }, () => {
  test('starts with TLS and a certificate for its address, answers without any worker being up, and ends', async (t) => {
    const dir = join(fileTree(t, { 'spaces "and quotes"/file': '' }), 'spaces "and quotes"');
    const [port = 0, statusPort = 0] = await freePorts(2);
    const master = await startNginx({ ...options(dir, port, statusPort), tls: true });
    t.after(() => terminate([master], 2_000));
    assert.equal(statSync(join(dir, 'key.pem')).mode & 0o077, 0);
    const request = get({ host: '127.0.0.1', port, ca: readFileSync(join(dir, 'cert.pem')), agent: false });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    assert.equal(response.statusCode, 502);
    response.resume();
    assert.deepEqual(await terminate([master], 2_000), []);
    assert.equal(isAlive(master), false);
  });

  test('a refused configuration is reported with nginx’s own message', async (t) => {
    const broken = { ...options(fileTree(t, {}), 8080, 8081), workers: [{ id: 'w0; bogus', port: 1 }] };
    await assert.rejects(startNginx(broken), { code: 'START_FAILED', message: /\[emerg\]/ });
  });
});

function options(dir: string, port: number, statusPort: number): NginxOptions {
  return {
    nginx: findTool('nginx') ?? 'nginx',
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
