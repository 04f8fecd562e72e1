/** Serves what the processes of a layer use, for holders of the token; nothing of it can be changed from outside. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { OBSERVATION_PATH } from '../../protocol/observation.ts';
import { bearerOf, tokenCheck } from '../../server/control/token.ts';
import { Guard } from '../../server/guard.ts';
import { type HttpListener, type HttpListenerOptions, openHttp } from '../../server/http-listener.ts';
import type { ObservedProcesses } from './observed-processes.ts';

type ObserverOptions = Omit<HttpListenerOptions, 'purpose'> & { token: string };

/** @throws CapacityError PORT_TAKEN, LISTEN_FAILED */
export async function openObserver(
  processes: Pick<ObservedProcesses, 'read'>,
  { token, ...options }: ObserverOptions,
): Promise<HttpListener> {
  const isToken = tokenCheck(token);
  return openHttp({ ...options, purpose: 'observer' }, new Guard(() => {}), async (request, response) => {
    if (isToken(bearerOf(request))) await answer(request, response, processes);
    else send(response, 401, { error: 'BAD_TOKEN: the token is missing or wrong' });
  });
}

async function answer(
  { url = '', method }: IncomingMessage,
  response: ServerResponse,
  processes: Pick<ObservedProcesses, 'read'>,
): Promise<void> {
  const [path, query] = url.split('?');
  if (method !== 'GET' || path !== OBSERVATION_PATH) {
    send(response, 404, { error: `GET ${OBSERVATION_PATH}` });
    return;
  }
  try {
    send(response, 200, await processes.read(new URLSearchParams(query).get('pss') === '1'));
  } catch (error) {
    send(response, 503, { error: (error as Error).message });
  }
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
