import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { test } from 'node:test';
import { Registry } from 'prom-client';
import { serveControlHttp } from '../../../server/control/control-http.ts';
import { HandlerGuard } from '../../../server/guard.ts';
import { tokenCheck } from '../../../server/unauthenticated.ts';

const TOKEN = 'token-of-the-tests';

/** @returns the status of a request for the metrics */
async function ask(localAddress: string, headers: Record<string, string>): Promise<number> {
  let answered = 200;
  const response = {
    writeHead: (status: number, { 'www-authenticate': scheme }: Record<string, string>) => {
      answered = status;
      if (status === 401) assert.equal(scheme, 'Bearer');
      return response;
    },
    setHeader: () => response,
    end: () => {},
  };
  const request = { url: '/metrics', headers, socket: { localAddress } } as unknown as IncomingMessage;
  const parts = {
    worker: 'w0',
    registry: new Registry(),
    isToken: tokenCheck(TOKEN),
    guard: new HandlerGuard({ malformed: () => {} }),
  };
  await serveControlHttp(request, response as unknown as ServerResponse, parts);
  return answered;
}

test('/metrics over the network requires the token, with any Host header', async () => {
  for (const address of ['10.0.0.11', '::ffff:10.0.0.11', 'fe80::1']) {
    for (const host of ['10.0.0.11:3200', 'localhost', '127.0.0.1']) {
      assert.equal(await ask(address, { host }), 401);
      assert.equal(await ask(address, { host, authorization: `Bearer ${TOKEN}x` }), 401);
      assert.equal(await ask(address, { host, authorization: `Bearer ${TOKEN}` }), 200);
    }
  }
});

test('/metrics on a loopback address requires a local Host header or the token', async () => {
  for (const address of ['127.0.0.1', '::ffff:127.0.0.1', '::1']) {
    for (const host of ['localhost:3200', 'LOCALHOST', '127.0.0.1:3200', '[::1]:3200'])
      assert.equal(await ask(address, { host }), 200, host);
    // A web page can point its own domain to this address.
    for (const host of ['attacker.example', '127.attacker.example', 'localhost.attacker.example:3200'])
      assert.equal(await ask(address, { host }), 421, host);
    assert.equal(await ask(address, {}), 421);
  }
});
