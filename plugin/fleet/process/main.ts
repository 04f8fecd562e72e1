/** The code of a fleet process, which holds its share of the connections. fleet-process.ts starts and ends it. */

import { once } from 'node:events';
import { tellParent } from '../../../protocol/helpers/tell-parent.ts';
import { loadParser } from '../client/parser.ts';
import type { FleetAnswer, FleetCommand, FleetSettings, FleetStart } from '../messages.ts';
import { Outbox } from '../outbox.ts';
import { TimerLag } from '../timer-lag.ts';
import type { CreateClient } from './parts.ts';
import { ProcessState } from './process-state.ts';

const STATUS_INTERVAL_MS = 100;

const [start] = (await once(process, 'message')) as [FleetStart];
const clients = await loadClients(start.settings);
const newState = (firstId: number) => new ProcessState(start, firstId, clients.create, answer);
let state = newState(0);

// These carry their own times, so they can wait.
const DEFERRABLE = new Set<FleetAnswer['op']>(['opened', 'left', 'status']);
const FLUSH_DELAY_MS = 20;
const outbox = new Outbox<FleetAnswer>(FLUSH_DELAY_MS, (batch) => tellParent(batch));
function answer(one: FleetAnswer): void {
  outbox.add(one, DEFERRABLE.has(one.op));
}

let lastStatus = '';
const lag = new TimerLag(STATUS_INTERVAL_MS);
const statusTimer = setInterval(() => {
  const status = { ...state.status(), loopLateMs: lag.tick() };
  const text = JSON.stringify(status);
  if (text !== lastStatus) answer(status);
  lastStatus = text;
}, STATUS_INTERVAL_MS);

process.on('message', (commands: FleetCommand[]) => {
  for (const command of commands) {
    try {
      obey(command);
    } catch (error) {
      refuse(command, error as Error);
    }
  }
});
process.on('disconnect', close);
// Ctrl-C reaches all processes of a terminal, and `timeout` or a service manager asks all of a group to end; the parent
// decides when its fleet ends.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});

if (process.connected) answer({ op: 'answer', requestId: 0, answer: undefined });
else close(); // The parent was killed while the client was still being loaded.

function obey(command: FleetCommand): void {
  if (command.op === 'exit') close();
  else if (command.op !== 'ask') state.commands.run(command);
  else {
    const { requestId, question, given } = command;
    if (question !== 'reset') answer({ op: 'answer', requestId, answer: state[question](given as never) });
    else {
      state.close();
      state = newState(given as number);
      answer({ op: 'answer', requestId, answer: undefined });
    }
  }
}

/** What cannot be done fails alone: the process holds thousands of connections. */
function refuse(command: FleetCommand, { message }: Error): void {
  const failure = { cause: 'fleet_protocol', message } as const;
  if ('requestId' in command && command.requestId !== undefined) {
    answer({ op: 'failed', requestId: command.requestId, ...failure });
  } else if ('id' in command) answer({ op: 'refused', id: command.id, ...failure });
}

function close(): void {
  clearInterval(statusTimer);
  outbox.close();
  state.close();
  clients.close();
  process.removeAllListeners('disconnect');
  if (process.connected) process.disconnect();
}

/** Loads the official client only if the run uses it: it costs the memory that the light client saves. */
async function loadClients({ client, ownEvent, defaults: { parser } }: FleetSettings) {
  if (client === 'official') {
    const { OfficialClient } = await import('../official/client.ts');
    const create: CreateClient = (slot, options, sink, sessions) =>
      new OfficialClient(slot, options, sink, ownEvent, sessions);
    return { create, close: () => {} };
  }
  const { LightClients } = await import('../light/clients.ts');
  const { officialCodec, parserCodec } = await import('../light/socket-io/codec.ts');
  const codec = parser === undefined ? officialCodec : parserCodec(loadParser(parser));
  const light = new LightClients(undefined, codec, ownEvent);
  return { create: light.create.bind(light), close: () => light.close() };
}
