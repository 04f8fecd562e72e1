/** Whether the request for a WebSocket reaches the server as such, through everything in between. */
import { createHash, randomBytes } from 'node:crypto';
import type { LookupAddress } from 'node:dns';
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { agentTo, speaksTls } from '../../../protocol/agent.ts';
import { printable } from '../../../protocol/printable.ts';
import { placeOf, type Subject, type TargetCheck, TIMEOUT_MS } from './target-check.ts';

const WEBSOCKET_GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const MAX_BODY_LENGTH = 200;
const NGINX =
  'let the proxy pass the upgrade on; in nginx: proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection "upgrade";';

export function checkUpgrades(subject: Subject): Promise<TargetCheck[]> {
  const { connection, addresses } = subject;
  if (!connection.transports.includes('websocket')) return Promise.resolve([]);
  return Promise.all(addresses.map((address) => checkUpgrade(subject, address)));
}

async function checkUpgrade({ connection }: Subject, address: LookupAddress): Promise<TargetCheck> {
  const url = new URL(connection.url.replace(/^ws/, 'http'));
  const check = { name: 'websocket' as const, tried: `the upgrade to WebSocket at ${placeOf(url, address)}` };
  const key = randomBytes(16).toString('base64');
  try {
    const { response, body } = await ask(connection, url, address, key);
    const by = response.headers.server === undefined ? '' : `, by ${printable(String(response.headers.server), 40)}`;
    if (body === undefined) {
      const accept = createHash('sha1')
        .update(key + WEBSOCKET_GUID)
        .digest('base64');
      if (response.headers['sec-websocket-accept'] === accept) return { ...check, status: 'ok', found: `granted${by}` };
      return { ...check, status: 'failed', found: `wrong Sec-WebSocket-Accept${by}`, fix: NGINX };
    }
    const [found, fix] = refusal(response.statusCode ?? 0, body, connection.path);
    return { ...check, status: 'failed', found: `${found}${by}`, fix };
  } catch (error) {
    const found = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
    return { ...check, status: 'failed', found, fix: 'start the server or its proxy, or correct the target' };
  }
}

/** @returns without a body if it was granted */
function ask(
  { path, query, headers, tls, localAddress }: Subject['connection'],
  url: URL,
  address: LookupAddress,
  key: string,
): Promise<{ response: IncomingMessage; body: string | undefined }> {
  const { promise, resolve, reject } = Promise.withResolvers<Awaited<ReturnType<typeof ask>>>();
  const search = new URLSearchParams({ ...query, EIO: '4', transport: 'websocket' });
  const { request } = speaksTls(url) ? https : http;
  const asking = request(new URL(`${path}?${search}`, url), {
    agent: agentTo(url, tls, { address, localAddress }),
    timeout: TIMEOUT_MS,
    headers: {
      ...headers,
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': key,
    },
  });
  asking.once('upgrade', (response, socket) => {
    socket.destroy();
    resolve({ response, body: undefined });
  });
  asking.once('response', (response) => {
    let body = '';
    response.setEncoding('utf8').on('data', (text: string) => {
      if (body.length < MAX_BODY_LENGTH) body += text;
    });
    response.once('end', () => resolve({ response, body }));
    response.once('error', reject);
  });
  asking.once('timeout', () => asking.destroy(Object.assign(new Error(), { code: 'ETIMEDOUT' })));
  asking.once('error', reject);
  asking.end();
  return promise;
}

/** @returns what was found, and how to mend it */
export function refusal(status: number, body: string, path: string): [found: string, fix: string] {
  const said = printable(body.trim(), MAX_BODY_LENGTH);
  // Engine.IO's answer to a request for WebSocket that does not ask for an upgrade.
  if (status === 400 && /"code":3\b/.test(body)) {
    return ['the server got the request without its Upgrade header: a proxy in between has removed it', NGINX];
  }
  if (status === 400 && /"code":0\b/.test(body)) {
    return [
      'the server does not offer WebSocket',
      'add it to `transports` of the server, or measure with TRANSPORTS=polling',
    ];
  }
  const found = `HTTP ${status}${said === '' || said.startsWith('<') ? '' : `: ${said}`}`;
  if (status === 404) {
    return [
      found,
      `is the path ${path}? Name another in config.engines.socketio-capacity.path, or route it in the proxy`,
    ];
  }
  if (status >= 502 && status <= 504)
    return [found, 'the proxy reaches no worker: see its log, and those of the workers'];
  if (status === 401 || status === 403) {
    return [
      found,
      'give it what it asks for, in `headers` or `query` of config.engines.socketio-capacity; or allow it in the proxy',
    ];
  }
  return [found, `see the log of the proxy; ${NGINX}`];
}
