/**
 * What a conductor needs for many hosts: real listener, hub and link, and agents whose engines replay what 10,000 connections
 * tell, without connections.
 *
 *   node bench/conductor.ts [hosts]
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { ConductorLink } from '../plugin/conduct/hosts/conductor-link.ts';
import { Hub } from '../plugin/conduct/hosts/hub.ts';
import { type Join, newSecret, parseJoinLine } from '../plugin/conduct/hosts/join-line.ts';
import { Listener } from '../plugin/conduct/hosts/listener.ts';
import { type AgentMessage, type HubMessage, hubMessageSchema } from '../plugin/conduct/hosts/messages.ts';
import { EngineLink, NO_STATUS } from '../plugin/run/link.ts';
import { monotonicUs } from '../protocol/clock/clock.ts';
import { mergeEncoded } from '../protocol/histogram.ts';
import type { FreezeOrder } from '../protocol/link/ledger.ts';
import type { EngineReport } from '../protocol/link/messages.ts';
import { encoded, frozenBroadcast, snapshot } from '../test/helpers/measurements.ts';

const CONNECTIONS = 10_000;
/** Of each host. */
const FLEET_PROCESSES = 2;
const BROADCASTS = 20;
const STATUS_INTERVAL_MS = 250;
const ROW_INTERVAL_MS = 1000;
const STEADY_MS = 20_000;
const JOIN_TIMEOUT_MS = 120_000;
const AGENTS_PER_PROCESS = 25;
const SEEDS = [0, 1, 2, 3];
const UNUSED = { version: 'bench', inputs: {} };

/** A second's worth of latencies that differ from each other, as those of so many receivers do. */
const histograms = SEEDS.map((seed) =>
  encoded(
    Array.from({ length: CONNECTIONS / FLEET_PROCESSES / 2 }, (_, n) => 500 + ((n * 7919 + seed * 104_729) % 250_000)),
  ),
);

async function conduct(hosts: number): Promise<void> {
  const listener = await Listener.open('127.0.0.1', 0, await newSecret());
  let rows = 0;
  const hub = new Hub(
    listener,
    { hosts, ...UNUSED, arrivals: [CONNECTIONS * hosts] },
    {
      onNote: () => {},
      onRefused: (error) => console.error(error),
      onPhase: () => {},
      onLost: (host, why) => console.error(host, why),
      onMachine: () => {
        rows++;
      },
      onSkipped: () => {},
    },
  );
  const link = new EngineLink(hub, { hosts });
  const line = listener.joinLine('127.0.0.1');
  const startedAt = performance.now();
  const children = Array.from({ length: Math.ceil(hosts / AGENTS_PER_PROCESS) }, (_, part) => {
    const count = Math.min(AGENTS_PER_PROCESS, hosts - part * AGENTS_PER_PROCESS);
    return spawn(process.execPath, [import.meta.filename, 'agents', line, String(part), String(count), String(hosts)], {
      stdio: ['ignore', 'inherit', 'inherit'],
    });
  });
  const { signal } = new AbortController();
  const loaded = process.cpuUsage();
  await hub.joined(JOIN_TIMEOUT_MS, signal);
  await link.ready(signal);
  report('all hosts have joined', performance.now() - startedAt, process.cpuUsage(loaded));
  link.start();

  const before = { cpu: process.cpuUsage(), rows };
  await new Promise((resolve) => setTimeout(resolve, STEADY_MS));
  const steady = process.cpuUsage(before.cpu);
  report('statuses, rows and clocks', STEADY_MS, steady);
  console.log(
    `  ${(rows - before.rows) / hosts / (STEADY_MS / 1000)} rows a host and second; connected: ${link.status.connected}`,
  );

  const orders: FreezeOrder[] = Array.from({ length: BROADCASTS }, (_, seq) => ({
    ...{ seq: seq + 1, room: 'capacity', sentAtUs: monotonicUs(), intendedAtUs: monotonicUs() },
  }));
  await timed(`freeze of ${BROADCASTS} broadcasts, and histograms merged`, async () => {
    const frozen = await link.freeze(orders);
    const received = frozen.reduce((sum, row) => sum + row.received, 0);
    mergeEncoded(frozen.flatMap(({ latencyUs }) => [latencyUs.local, latencyUs.cross]));
    console.log(`  ${frozen.length} rows, ${received} receipts, ${link.unanswered} hosts without an answer`);
  });
  await timed('snapshot', async () => {
    console.log(`  ${(await link.snapshots()).length} hosts`);
  });
  console.log(`memory: ${Math.round(process.memoryUsage().rss / 1e6)} MB`);
  for (const child of children) child.kill();
  await Promise.all(children.map((child) => once(child, 'exit')));
  hub.stop();
  await listener.close();
}

async function timed(what: string, run: () => Promise<void>): Promise<void> {
  const [at, cpu] = [performance.now(), process.cpuUsage()];
  await run();
  report(what, performance.now() - at, process.cpuUsage(cpu));
}

function report(what: string, elapsedMs: number, { user, system }: NodeJS.CpuUsage): void {
  const cpuMs = (user + system) / 1000;
  const share = ((100 * cpuMs) / elapsedMs).toFixed(1);
  console.log(`${what}: ${Math.round(elapsedMs)} ms, ${Math.round(cpuMs)} ms of CPU, ${share} % of a core`);
}

async function startAgent(join: Join, index: number, hosts: number): Promise<void> {
  const from = { host: `kernel-${index}`, engine: '1' };
  const say = (message: EngineReport) => link.send({ type: 'engine', message: { from, ...message } });
  const answer = ({ message }: Extract<HubMessage, { type: 'run' }>) => {
    if (message.type === 'snapshot')
      say({ type: 'snapshot', requestId: message.requestId, snapshot: snapshot({ from }) });
    if (message.type !== 'freeze') return;
    const rows = message.broadcasts.flatMap(({ seq }) =>
      Array.from({ length: FLEET_PROCESSES }, (_, fleetProcess) => {
        const half = CONNECTIONS / FLEET_PROCESSES;
        const [local = '', cross = ''] = [histograms[seq % 4], histograms[(seq + fleetProcess + 1) % 4]];
        return frozenBroadcast(seq, [500, 250_000], {
          ...{ process: fleetProcess, expected: half, received: half, latencyUs: { local, cross } },
        });
      }),
    );
    say({ type: 'frozen', requestId: message.requestId, rows });
  };
  const hello = {
    ...{ host: `load-${index}`, instance: `bench-${index}`, kernel: from.host, ...UNUSED },
    ...{ hosts, index, arrivals: [CONNECTIONS], cores: 2 },
  };
  const link = await ConductorLink.open<AgentMessage, HubMessage>({
    ...{ join, hello, silentAfterMs: JOIN_TIMEOUT_MS, schema: hubMessageSchema, onMalformed: console.error },
    onMessage: (message) => message.type === 'run' && answer(message),
    onLost: () => process.exit(1),
    signal: new AbortController().signal,
  });
  say({ type: 'ready', engines: 1 });
  link.send({ type: 'fits' });
  const status = {
    ...NO_STATUS,
    started: CONNECTIONS,
    connected: CONNECTIONS,
    joined: CONNECTIONS,
    holding: CONNECTIONS,
  };
  setInterval(() => say({ type: 'status', status }), STATUS_INTERVAL_MS);
  setInterval(() => {
    const { offsetUs, boundUs } = link.clock;
    const layer = { rssBytes: 2e8, cpuPercent: 10 };
    const machine = { cpuIdlePercent: 80, memoryUsedBytes: 1e9, fleet: layer, artillery: layer };
    const row = { atUs: monotonicUs(), ...machine, clock: { offsetUs, boundUs }, skippedUsers: 0 };
    link.send({ type: 'machine', row });
  }, ROW_INTERVAL_MS);
}

const [role = '100', line = '', part, count, hosts] = process.argv.slice(2);
if (role === 'agents') {
  const join = parseJoinLine(line);
  if (!join) throw new Error('no join line');
  const first = Number(part) * AGENTS_PER_PROCESS;
  for (let index = first; index < first + Number(count); index++) void startAgent(join, index, Number(hosts));
} else {
  await conduct(Number(role));
}
