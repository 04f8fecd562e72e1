/** `/metrics` and `/healthz` of the control port, and who may read them. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Registry } from 'prom-client';
import { isLoopback } from '../../protocol/machine/loopback.ts';

const LOOPBACK_ADDRESS = /^(::ffff:)?127\.|^::1$/;

export interface HttpParts {
  worker: string;
  registry: Registry;
  isToken: (given: unknown) => boolean;
}

/** `/healthz` is open to everybody; `/metrics` requires the token, except on loopback. */
export async function serveHttp(
  request: IncomingMessage,
  response: ServerResponse,
  { worker, registry, isToken }: HttpParts,
): Promise<void> {
  const path = request.url?.split('?')[0];
  if (path === '/metrics') {
    const refusal = refusalOf(request, isToken);
    if (refusal) return void response.writeHead(refusal.status, refusal.headers).end(refusal.text);
    const text = await registry.metrics();
    response.setHeader('content-type', registry.contentType).end(text);
  } else if (path === '/healthz') {
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ status: 'ok', worker }));
  } else {
    response.writeHead(404, { 'content-type': 'text/plain' }).end('available paths: /metrics and /healthz\n');
  }
}

function refusalOf({ headers, socket }: IncomingMessage, isToken: HttpParts['isToken']) {
  const bearer = /^Bearer (.*)$/i.exec(headers.authorization ?? '')?.[1];
  if (isToken(bearer)) return undefined;
  const give = 'give the control token: "Authorization: Bearer <token>"\n';
  if (bearer === undefined && LOOPBACK_ADDRESS.test(socket.localAddress ?? '')) {
    if (namesThisMachine(headers.host)) return undefined;
    const text = `the Host header does not name this machine: ask for localhost or 127.0.0.1, or ${give}`;
    return { status: 421, headers: { 'content-type': 'text/plain' }, text };
  }
  const wanted = { 'content-type': 'text/plain', 'www-authenticate': 'Bearer' };
  return { status: 401, headers: wanted, text: `BAD_TOKEN: the control token is missing or wrong; ${give}` };
}

/** A web page can point its own domain at 127.0.0.1 (DNS rebinding); its visitors' browsers then send that domain as Host. */
function namesThisMachine(host: string | undefined): boolean {
  return isLoopback((host ?? '').replace(/:\d+$/, '').toLowerCase());
}
