/** Who may read the metrics, by the address on which the request arrived. */
import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { test } from 'node:test';
import { Registry } from 'prom-client';
import { serveHttp } from '../../../server/control/http.ts';
import { tokenCheck } from '../../../server/control/token.ts';
import { Guard } from '../../../server/guard.ts';

const TOKEN = 'token-of-the-tests';

interface Answer {
  status: number;
  headers: Record<string, string>;
  text: string;
}

async function ask(localAddress: string, url: string, headers: Record<string, string>): Promise<Answer> {
  const answer: Answer = { status: 200, headers: {}, text: '' };
  const response = {
    writeHead(status: number, headers: Record<string, string>) {
      Object.assign(answer, { status, headers });
      return this;
    },
    setHeader() {
      return this;
    },
    end(text: string) {
      answer.text = text;
    },
  };
  const request = { url, headers, socket: { localAddress } } as unknown as IncomingMessage;
  const guard = new Guard(() => {});
  const parts = { worker: 'w0', registry: new Registry(), isToken: tokenCheck(TOKEN), guard };
  await serveHttp(request, response as unknown as ServerResponse, parts);
  return answer;
}

test('from the network, metrics need the token, whatever host was asked for', async () => {
  for (const address of ['10.0.0.11', '::ffff:10.0.0.11', 'fe80::1']) {
    for (const host of ['10.0.0.11:3200', 'localhost', '127.0.0.1']) {
      const { status, headers } = await ask(address, '/metrics', { host });
      assert.deepEqual([status, headers['www-authenticate']], [401, 'Bearer']);
      assert.equal((await ask(address, '/metrics', { host, authorization: `Bearer ${TOKEN}x` })).status, 401);
      assert.equal((await ask(address, '/metrics', { host, authorization: `Bearer ${TOKEN}` })).status, 200);
    }
  }
});

test('on a loopback address they need the host, or the token', async () => {
  for (const address of ['127.0.0.1', '::ffff:127.0.0.1', '::1']) {
    for (const host of ['localhost:3200', 'LOCALHOST', '127.0.0.1:3200', '[::1]:3200']) {
      assert.equal((await ask(address, '/metrics', { host })).status, 200, host);
    }
    // A web page can point its own domain here.
    for (const host of [undefined, 'attacker.example', '127.attacker.example', 'localhost.attacker.example:3200']) {
      const headers: Record<string, string> = host === undefined ? {} : { host };
      assert.equal((await ask(address, '/metrics', headers)).status, 421, host);
    }
  }
});

test('health is for everybody', async () => {
  assert.equal((await ask('10.0.0.11', '/healthz?x', { host: 'any' })).text, '{"status":"ok","worker":"w0"}');
});
