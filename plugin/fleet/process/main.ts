/** The code of a fleet process, which holds its share of the connections. fleet-process.ts starts and ends it. */

import { once } from 'node:events';
import { ownEvent } from '../client/own-event.ts';
import { loadParser } from '../client/parser.ts';
import { EventLoopWatch } from '../health.ts';
import { parserCodec } from '../light/socket-io/parser-codec.ts';
import type { FleetAnswer, FleetCommand, FleetSettings, FleetStart } from '../messages.ts';
import { Outbox } from '../outbox.ts';
import { Pacer } from '../pacer.ts';
import { TimerLag } from '../timer-lag.ts';
import type { ConnectionManagerDependencies } from './connections/connection-manager.ts';
import { ProcessState } from './process-state.ts';

const STATUS_INTERVAL_MS = 100;

const [{ settings, index, processes }] = (await once(process, 'message')) as [FleetStart];
const clients = await loadClients(settings);
const pacer = new Pacer(settings.disconnectRatePerSec);
const eventLoop = new EventLoopWatch();
const share = shareOf(settings, index, processes);
const newState = (firstId: number) =>
  new ProcessState({ settings, share, firstId, createClient: clients.create, pacer, answer });
let state = newState(0);

// These carry their own times, so they can wait.
const DEFERRABLE = new Set<FleetAnswer['op']>(['opened', 'left', 'status']);
const FLUSH_DELAY_MS = 20;
const outbox = new Outbox<FleetAnswer>(FLUSH_DELAY_MS, (batch) => process.connected && process.send?.(batch));
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
    if (command.op === 'snapshot')
      answer({ op: 'snapshot', requestId: command.requestId, snapshot: state.snapshot(eventLoop) });
    else if (command.op === 'freeze') {
      const rows = command.broadcasts.map((broadcast) => ({ process: index, ...state.freeze(broadcast) }));
      answer({ op: 'frozen', requestId: command.requestId, rows });
    } else if (command.op === 'sight') {
      const sightings = state.sight(command.watch, command.outside);
      answer({ op: 'sighted', requestId: command.requestId, sightings });
    } else if (command.op === 'messages') {
      const { requestId, stage } = command;
      answer({ op: 'messages', requestId, counts: state.messages.enter(stage) });
    } else if (command.op === 'fault') {
      state.connections.fault(command.order);
      answer({ op: 'faulted', requestId: command.requestId });
    } else if (command.op === 'reset') {
      state.close();
      state = newState(command.firstId);
      answer({ op: 'reset', requestId: command.requestId });
    } else if (command.op === 'exit') close();
    else state.run(command);
  }
});
process.on('disconnect', close);
// Ctrl-C reaches all processes of a terminal, and `timeout` or a service manager asks all of a group to end; the parent
// decides when its fleet ends.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});

if (process.connected) answer({ op: 'ready', pid: process.pid });
else close(); // The parent was killed while the client was still being loaded.

function close(): void {
  clearInterval(statusTimer);
  outbox.close();
  pacer.close();
  eventLoop.close();
  state.close();
  clients.close();
  process.removeAllListeners('disconnect');
  if (process.connected) process.disconnect();
}

/** Loads the official client only if the run uses it: it costs the memory that the light client saves. */
async function loadClients({ client, ownEvent: plan, defaults: { parser } }: FleetSettings) {
  const counted = plan && ownEvent(plan);
  if (client === 'official') {
    const { createOfficialClient } = await import('../official/client.ts');
    const { isolateExceptions } = await import('../official/isolate.ts');
    isolateExceptions();
    const create: ConnectionManagerDependencies['createClient'] = (slot, options, sink, sessions) =>
      createOfficialClient(slot, options, sink, counted, sessions);
    return { create, close: () => {} };
  }
  const { LightClients } = await import('../light/clients.ts');
  const { officialCodec } = await import('../light/socket-io/codec.ts');
  const { OwnEventReader } = await import('../light/in-place/own-event.ts');
  const codec = parser === undefined ? officialCodec : parserCodec(loadParser(parser));
  const light = new LightClients(undefined, codec, counted, plan && new OwnEventReader(plan));
  return { create: light.create.bind(light), close: () => light.close() };
}

/** @returns the index of this process among all fleet processes of the run */
function shareOf({ fleet }: FleetSettings, index: number, processes: number): { index: number; of: number } {
  return { index: fleet.index * processes + index, of: fleet.of * processes };
}
