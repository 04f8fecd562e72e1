/** Suggests fixes for HTTP error statuses in answers to Engine.IO's handshake request. */
import { ENGINE_NAME } from '../../script/script.ts';

const OPTIONS = `config.engines.${ENGINE_NAME}`;
export const SET_PATH_FIX = `set the server's own path: \`path\` in ${OPTIONS}, or \`init --path\``;
export const WITHOUT_SLASH_FIX = `request the path without the slash at its end, as its clients do: addTrailingSlash: false in ${OPTIONS}`;
export const NOT_SOCKETIO_FIX = 'correct the host or port of the target; only Socket.IO 3 and 4 can be measured';

const GIVE = `give it what it asks for, in \`headers\` or \`query\` of ${OPTIONS}`;
const SHORTEN = `shorten \`headers\`, \`query\` and cookies of ${OPTIONS}, or raise the limit (nginx: large_client_header_buffers; Node: --max-http-header-size)`;
const CLOUDFLARE =
  'the CDN cannot use the origin server: see the log of the CDN, or take the origin itself as the target';

const FIXES: Record<number, string> = {
  400: GIVE,
  401: `put user and password into the target (http://user:password@host), or a token into \`headers\` of ${OPTIONS}, or log in by an HTTP step before \`connect\``,
  402: 'the plan or quota of that service is used up: see its account',
  403: `${GIVE}; or allow this machine's address in the server, the proxy or the firewall`,
  404: `${SET_PATH_FIX}; or route it in the proxy`,
  405: `what answers takes no GET there: ${SET_PATH_FIX}`,
  406: `what answers serves other content there: ${SET_PATH_FIX}`,
  407: 'a forward proxy asks for a login: reach the server without it, or take another target',
  408: 'the server gave up waiting for the request: raise its header time-out, or reduce the load on this machine',
  410: `nothing is there any more: ${SET_PATH_FIX}`,
  413: SHORTEN,
  414: SHORTEN,
  421: 'the server does not serve that host name: correct the name in the target, or `tls.servername`',
  425: 'the server refuses early data: turn off TLS session resumption (`tls.resume`)',
  426: `${GIVE}, such as the version of a client`,
  429: "raise the rate limit for this machine's address, or wait until it has passed",
  431: SHORTEN,
  451: 'the server does not serve this region: measure from another one',
  500: 'see the log of the server: it failed while it handled the request',
  501: `what answers does not implement this: ${SET_PATH_FIX}; or ${NOT_SOCKETIO_FIX}`,
  502: 'the proxy got no valid answer from the workers behind it: start them, and see the logs of proxy and workers',
  503: 'the server is overloaded or in maintenance, or the proxy knows no running worker behind it: see the logs of proxy and workers',
  504: 'the workers behind the proxy did not answer in time: see their logs, and the time-out of the proxy',
};

/** Returns the suggested fix for an HTTP status; undefined for a status without a typical cause. */
export function httpStatusFix(status: number): string | undefined {
  return FIXES[status] ?? (status >= 520 && status <= 530 ? CLOUDFLARE : undefined);
}
