/** Serves what the processes of a layer use, for holders of the token; nothing of it can be changed from outside. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { OBSERVATION_PATH } from '../../protocol/observation.ts';
import { tokenCheck } from '../../server/control/token.ts';
import { listen } from '../../server/listen.ts';
import { watchSockets } from '../../server/open-sockets.ts';
import type { ObservedProcesses } from './observed-processes.ts';

interface ObserverOptions {
  token: string;
  /** 0 chooses a free one. */
  port: number;
  host: string;
  /** PEM. */
  tls: { key: string; cert: string } | undefined;
}

/** @throws CapacityError PORT_TAKEN, LISTEN_FAILED */
export async function openObserver(
  processes: Pick<ObservedProcesses, 'read'>,
  { token, port, host, tls }: ObserverOptions,
): Promise<{ port: number; close(): Promise<void> }> {
  const isToken = tokenCheck(token);
  const http = tls ? createTlsServer(tls) : createServer();
  const endSockets = watchSockets(http);
  http.on('request', (request, response) => void answer(request, response, processes, isToken));
  const chosen = await listen(http, port, host, 'observer');
  return {
    port: chosen,
    close: async () => {
      const closed = new Promise<void>((resolve) => http.close(() => resolve()));
      endSockets();
      await closed;
    },
  };
}

async function answer(
  { headers, url = '/', method }: IncomingMessage,
  response: ServerResponse,
  processes: Pick<ObservedProcesses, 'read'>,
  isToken: (given: unknown) => boolean,
): Promise<void> {
  const send = (status: number, body: object) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  const { pathname, searchParams } = new URL(url, 'http://observer');
  if (method !== 'GET' || pathname !== OBSERVATION_PATH) return void send(404, { error: `GET ${OBSERVATION_PATH}` });
  const given = /^Bearer (.*)$/i.exec(headers.authorization ?? '')?.[1];
  if (!isToken(given)) return void send(401, { error: 'BAD_TOKEN: the token is missing or wrong' });
  try {
    send(200, await processes.read(searchParams.get('pss') === '1'));
  } catch (error) {
    send(503, { error: (error as Error).message });
  }
}
