/** Serves `/metrics` and `/healthz` on the control port, and checks access to both. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Registry } from 'prom-client';
import { isLoopback } from '../../protocol/base/machine/loopback.ts';
import type { HandlerGuard } from '../guard.ts';
import { bearerToken } from '../unauthenticated.ts';

const LOOPBACK_ADDRESS = /^(::ffff:)?127\.|^::1$/;
const TEXT = { 'content-type': 'text/plain' };

interface HttpParts {
  worker: string;
  registry: Registry;
  isToken: (given: unknown) => boolean;
  guard: HandlerGuard;
}

/** Serves a request. `/healthz` needs no token. `/metrics` needs the token unless the request comes from loopback. */
export async function serveControlHttp(
  request: IncomingMessage,
  response: ServerResponse,
  { worker, registry, isToken, guard }: HttpParts,
): Promise<void> {
  const path = request.url?.split('?')[0];
  if (path === '/metrics') {
    const refusal = refusalOf(request, isToken);
    if (refusal) {
      response.writeHead(refusal.status, refusal.headers).end(refusal.text);
      return;
    }
    try {
      const text = await registry.metrics();
      response.setHeader('content-type', registry.contentType).end(text);
    } catch (error) {
      // A failed metric is the user's own: users can add metrics to the registry that `instrument(io)` returns.
      guard.complain(`/metrics: a metric failed: ${(error as Error)?.message}`);
      response.writeHead(500, TEXT).end('a metric failed; the log of the server says why\n');
    }
  } else if (path === '/healthz') {
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ status: 'ok', worker }));
  } else {
    response.writeHead(404, TEXT).end('available paths: /metrics and /healthz\n');
  }
}

function refusalOf(request: IncomingMessage, isToken: HttpParts['isToken']) {
  const bearer = bearerToken(request);
  if (isToken(bearer)) return undefined;
  const give = 'give the control token: "Authorization: Bearer <token>"\n';
  if (bearer === undefined && LOOPBACK_ADDRESS.test(request.socket.localAddress ?? '')) {
    if (namesThisMachine(request.headers.host)) return undefined;
    const text = `the Host header does not name this machine: ask for localhost or 127.0.0.1, or ${give}`;
    return { status: 421, headers: TEXT, text };
  }
  return {
    status: 401,
    headers: { ...TEXT, 'www-authenticate': 'Bearer' },
    text: `BAD_TOKEN: the control token is missing or wrong; ${give}`,
  };
}

/**
 * Prevents DNS rebinding. A web page can point its own domain at 127.0.0.1, and browsers then send that domain as Host.
 */
function namesThisMachine(host: string | undefined): boolean {
  return isLoopback((host ?? '').replace(/:\d+$/, '').toLowerCase());
}
