/** A fleet process: holds its share of the connections. Started by fleet.ts, ends with its parent. */
import { monotonicUs } from '../../protocol/clock.ts';
import { ConnectTimes } from './connect-times.ts';
import { Connections } from './connections.ts';
import { EventLoopWatch, processHealth } from './health.ts';
import { Ledger } from './ledger.ts';
import type { FleetAnswer, FleetCommand, FleetSettings, ProcessSnapshot } from './messages.ts';
import { Openings } from './openings.ts';
import { Pacer } from './pacer.ts';

const STATUS_INTERVAL_MS = 100;

const settings = JSON.parse(process.argv[2] ?? '{}') as FleetSettings;
const clients = await loadClients(settings);
const ledger = new Ledger();
const connectTimes = new ConnectTimes();
const openings = new Openings(monotonicUs());
const pacer = new Pacer(settings.leaveRatePerSec);
const eventLoop = new EventLoopWatch();
const connections = new Connections({
  settings,
  share: shareOf(settings, Number(process.argv[3]), Number(process.argv[4])),
  createClient: clients.create,
  ledger,
  connectTimes,
  openings,
  pacer,
  answer,
});

// A message wakes the engine's thread, which costs more than all else about a connection here. So the answers of one
// turn of the event loop travel together, and those that carry their own time wait for others.
const PATIENT = new Set<FleetAnswer['op']>(['opened', 'left', 'status']);
const PATIENCE_MS = 10;
let answers: FleetAnswer[] = [];
let patience: NodeJS.Timeout | undefined;
let isFlushing = false;
function answer(one: FleetAnswer): void {
  answers.push(one);
  if (isFlushing) return;
  if (PATIENT.has(one.op)) patience ??= setTimeout(flush, PATIENCE_MS);
  else {
    isFlushing = true;
    setImmediate(flush);
  }
}
function flush(): void {
  clearTimeout(patience);
  patience = undefined;
  isFlushing = false;
  const batch = answers;
  answers = [];
  if (batch.length > 0 && process.connected) process.send?.(batch);
}

let lastStatus = '';
const statusTimer = setInterval(() => {
  const { connecting, connected, joining, joined } = connections;
  const status = { op: 'status' as const, connecting, connected, joining, joined, received: ledger.received };
  const text = JSON.stringify(status);
  if (text !== lastStatus) answer(status);
  lastStatus = text;
}, STATUS_INTERVAL_MS);

process.on('message', (commands: FleetCommand[]) => {
  for (const command of commands) {
    if (command.op === 'snapshot') answer({ op: 'snapshot', requestId: command.requestId, snapshot: snapshot() });
    else if (command.op === 'freeze') {
      const rows = command.broadcasts.map((broadcast) => ledger.freeze(broadcast));
      answer({ op: 'frozen', requestId: command.requestId, rows });
    } else if (command.op === 'exit') close();
    else connections.run(command);
  }
});
process.on('disconnect', close);
// Ctrl-C reaches the whole group of a terminal; the parent decides when its fleet ends.
process.on('SIGINT', () => {});

answer({ op: 'ready', pid: process.pid });

function snapshot(): ProcessSnapshot {
  return {
    health: processHealth(connections.connected, eventLoop),
    attempts: connections.attempts,
    opened: connections.opened,
    connected: connections.connected,
    attemptFailures: connections.attemptFailures,
    disconnects: connections.disconnects,
    perWorker: connections.perWorker,
    connectUs: connectTimes.snapshot(),
    openings: openings.snapshot(),
    receipts: { received: ledger.received, duplicates: ledger.duplicates, late: ledger.late, early: ledger.early },
    ignoredEvents: connections.ignoredEvents,
    receivedBytes: connections.receivedBytes,
    sentBytes: connections.sentBytes,
  };
}

function close(): void {
  clearInterval(statusTimer);
  clearTimeout(patience);
  pacer.close();
  eventLoop.close();
  connections.destroy();
  clients.close();
  process.removeAllListeners('disconnect');
  if (process.connected) process.disconnect();
}

/** The official client is loaded only where it is asked for: it costs memory that the light one is there to save. */
async function loadClients({ client }: FleetSettings) {
  if (client === 'official') {
    const { createOfficialClient } = await import('./official/client.ts');
    return { create: createOfficialClient, close: () => {} };
  }
  const { LightClients } = await import('./light/clients.ts');
  const light = new LightClients();
  return { create: light.create.bind(light), close: () => light.close() };
}

/** Among all fleet processes of the run. */
function shareOf({ fleet }: FleetSettings, index: number, processes: number): { index: number; of: number } {
  return { index: fleet.index * processes + index, of: fleet.of * processes };
}
