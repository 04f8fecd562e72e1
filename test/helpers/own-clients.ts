/** Servers that accept only authenticated users, and the run's own clients for them. */
import { writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Server } from 'socket.io';
import { connectClient } from '../../plugin/run/receivers/connect-client.ts';
import { RunClients } from '../../plugin/run/receivers/run-clients.ts';
import type { ConnectionTarget } from '../../plugin/script/connection-target.ts';
import { ENGINE_NAME, type Scenario, type Script } from '../../plugin/script/script.ts';
import { readSettings } from '../../plugin/script/settings.ts';
import { STEP_KINDS } from '../../plugin/virtual-user/steps/index.ts';
import { tempFolder } from './temp-folder.ts';

/** @returns the namespace of a client that plays no virtual user */
export async function connectBare(
  connection: ConnectionTarget,
  signal: AbortSignal,
  listeners?: Parameters<typeof connectClient>[2],
) {
  const { socket } = await connectClient({ connection }, signal, listeners);
  return socket;
}

export type Answer = (value: unknown) => void;

export const JOIN = { emit: ['join_room', { clientKey: 'capacity' }] };
export const HOLD = { hold: true };
const PROCESSOR = `
let issued = 0;
exports.login = (context, events, next) => {
  context.vars.token = 'token-' + ++issued;
  next();
};
exports.headers = async (context) => {
  context.extraHeaders = { authorization: 'Bearer token-' + ++issued };
};
`;

export function scenarioOf(
  t: TestContext,
  url: string,
  scenarios: Scenario | Scenario[],
  config: object = {},
  options = {},
) {
  const folder = tempFolder(t);
  writeFileSync(join(folder, 'tokens.csv'), 'alice,token-1\nbob,token-2\ncarol,token-3\n');
  writeFileSync(join(folder, 'processor.cjs'), PROCESSOR);
  const plugins = { [ENGINE_NAME]: options };
  const script: Script = {
    config: { target: url, phases: [{ duration: 1, arrivalRate: 1 }], plugins, ...config },
    scenarios: [scenarios].flat().map((scenario) => ({ engine: ENGINE_NAME, ...scenario })),
    _scriptPath: join(folder, 'scenario.yml'),
  };
  return { script, settings: readSettings(script, STEP_KINDS, {}) };
}

export async function clientsOf(...given: Parameters<typeof scenarioOf>) {
  const { script, settings } = scenarioOf(...given);
  return { script, settings, clients: await RunClients.open(settings, script) };
}

export const CSV = { payload: [{ path: 'tokens.csv', fields: ['user', 'token'] }] };
export const CODE = { processor: 'processor.cjs' };
export const BEARER = { socketio: { extraHeaders: { authorization: 'Bearer {{ token }}' } } };

/** Accepts requests with a token. Other requests end before they reach Socket.IO. */
const requireBearer =
  (refuse: (request: IncomingMessage, response: ServerResponse) => void) =>
  (io: Server): void => {
    io.engine.use((request: IncomingMessage, response: ServerResponse, next: () => void) =>
      /^Bearer token-\d+$/.test(request.headers.authorization ?? '') ? next() : refuse(request, response),
    );
    welcome(io);
  };

export const SERVERS = {
  answers: requireBearer((_request, response) => {
    response.writeHead(401);
    response.end('who are you?');
  }),
  hangsUp: requireBearer(({ socket }) => socket.destroy()),
};

export function welcome(io: Server) {
  io.on('connection', (socket) => socket.on('join_room', (_asked, answer: Answer) => answer({ worker: 'w1' })));
}
