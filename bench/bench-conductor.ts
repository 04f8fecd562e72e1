/**
 * Measures the CPU of a conductor, which coordinates several generator hosts, with 10, 100 and 1,000 simulated hosts:
 * `npm run bench:conductor`. The hosts run in other processes. Each has one engine with 10,000 connections, reports as
 * often as a real host, and replies for 20 broadcasts at once.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { openConductorLink } from '../plugin/conduct/hosts/conductor-link.ts';
import { type HubMessage, hubMessageSchema, reportIntervalMs } from '../plugin/conduct/hosts/host-messages.ts';
import { HostHub } from '../plugin/conduct/hosts/hub.ts';
import { createConductorSecret, type JoinAddress, parseJoinToken } from '../plugin/conduct/hosts/join-token.ts';
import { openConductorListener } from '../plugin/conduct/hosts/listener.ts';
import { EngineLink, NO_STATUS } from '../plugin/run/link.ts';
import { monotonicUs } from '../protocol/base/clock/clock.ts';
import { decodeHistogram, mergeEncodedHistograms } from '../protocol/base/histogram.ts';
import { ENGINE_STATUS_INTERVAL_MS, type EngineReport } from '../protocol/link/link-messages.ts';
import { decimalsText, integerText } from '../report/text/format.ts';
import { helloOf } from '../test/helpers/hosts.ts';
import { frozenBroadcast } from '../test/helpers/measurements.ts';

const HOSTS = (process.env.HOSTS ?? '10,100,1000').split(',').map(Number);
/** One process with all 1,000 hosts would answer the conductor's pings too late. */
const HOSTS_PER_PROCESS = 200;
const MEMBERS = 10_000;
const BROADCASTS = 20;
const WINDOW_MS = 10_000;
/** Interval between reports of a machine's load, in milliseconds. */
const ROW_MS = 1000;
const NEVER = new AbortController().signal;

/** Simulates some of the hosts. They join the run ten at a time and reply to the conductor. */
async function simulateHosts(join: JoinAddress, hosts: number, from: number): Promise<void> {
  // The measuring process may end by an error.
  process.once('disconnect', () => process.exit());
  // Irregular, as measured ones: a regular histogram would be five times smaller.
  const latenciesUs = Array.from({ length: MEMBERS }, (_, member) => 5000 + ((member * 7919) ** 2 % 60_013));
  const row = frozenBroadcast(0, latenciesUs);
  const status = { ...NO_STATUS, started: MEMBERS, connected: MEMBERS, joined: MEMBERS };
  const addHost = async (index: number) => {
    const report = (message: EngineReport) =>
      link.send({ type: 'engine', message: { from: { host: 'kernel', engine: '1' }, ...message } });
    const onMessage = (message: HubMessage) => {
      if (message.type === 'end') return;
      const { message: order } = message;
      if (order.type === 'freeze') {
        const asked = order.broadcasts.map(({ seq }) => ({ ...row, seq }));
        report({ type: 'frozen', requestId: order.requestId, rows: asked });
      }
      if (order.type === 'close') report({ type: 'closed', requestId: order.requestId });
    };
    const link = await openConductorLink({
      ...{ join, hello: helloOf({ host: `host-${index}`, hosts, index }), silentAfterMs: 30_000, signal: NEVER },
      ...{ schema: hubMessageSchema, onMessage, onMalformed: () => {}, onLost: () => {} },
    });
    report({ type: 'ready', engines: 1 });
    link.send({ type: 'ready' });
    setInterval(() => report({ type: 'status', status }), reportIntervalMs(ENGINE_STATUS_INTERVAL_MS, hosts));
    const clock = { offsetUs: 0, boundUs: 0 };
    const machineRow = () => ({ atUs: monotonicUs(), cpuIdlePercent: 50, clock, skippedUsers: 0 });
    setInterval(() => link.send({ type: 'machine', row: machineRow() }), reportIntervalMs(ROW_MS, hosts));
  };
  const to = Math.min(hosts, from + HOSTS_PER_PROCESS);
  for (let index = from; index < to; index += 10)
    await Promise.all(Array.from({ length: Math.min(10, to - index) }, (_, more) => addHost(index + more)));
}

async function measure(hosts: number): Promise<string[]> {
  const listener = await openConductorListener('127.0.0.1', 0, await createConductorSecret());
  const expected = { hosts, version: '1', inputs: { scenarios: 'same' }, arrivals: [10 * hosts, 0] };
  let messages = 0;
  const none = () => {};
  const count = () => messages++;
  const hub = new HostHub(listener, expected, {
    ...{ onNote: none, onRefused: (error) => Promise.reject(error), onPhase: none, onLost: none },
    ...{ onMachine: count, onSkipped: none },
  });
  const link = new EngineLink(hub, { hosts });
  const deliver = hub.onMessage;
  hub.onMessage = (message) => {
    count();
    deliver(message);
  };
  const startedMs = performance.now();
  const processes = Array.from({ length: Math.ceil(hosts / HOSTS_PER_PROCESS) }, (_, index) =>
    fork(import.meta.filename, [listener.joinToken('127.0.0.1'), String(hosts), String(index * HOSTS_PER_PROCESS)]),
  );
  await hub.joined(600_000, NEVER);
  await link.ready(NEVER);
  const joinSeconds = (performance.now() - startedMs) / 1000;
  link.start();
  messages = 0;
  const [cpu, beganMs] = [process.cpuUsage(), performance.now()];
  await delay(WINDOW_MS);
  const seconds = (performance.now() - beganMs) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  const perSec = messages / seconds;
  const askedMs = performance.now();
  const orders = Array.from({ length: BROADCASTS }, (_, index) => ({
    ...{ seq: index + 1, room: 'capacity', sentAtUs: 0, intendedAtUs: 0 },
  }));
  const rows = await link.freeze(orders);
  const repliedMs = performance.now();
  const merged = decodeHistogram(mergeEncodedHistograms(rows.map(({ latencyUs }) => latencyUs.local)));
  const mergedMs = performance.now();
  if (merged.totalCount !== hosts * MEMBERS * BROADCASTS)
    throw new Error(`${merged.totalCount} receipts merged; ${link.unanswered} replies are missing`);
  const rssMb = process.memoryUsage().rss / 1e6;
  for (const child of processes) child.kill();
  await Promise.all(processes.map((child) => once(child, 'exit')));
  hub.stop();
  await listener.close();
  const cells = [
    joinSeconds,
    (100 * (user + system)) / 1e6 / seconds,
    rssMb,
    repliedMs - askedMs,
    mergedMs - repliedMs,
  ];
  return [integerText(hosts), integerText(perSec), ...cells.map((value) => decimalsText(value, 0))];
}

const [, , token, hosts, from] = process.argv;
if (token !== undefined) await simulateHosts(parseJoinToken(token) as JoinAddress, Number(hosts), Number(from));
else {
  const header = ['hosts', 'messages/s', 'join s', 'CPU % of a core', 'RSS MB', 'replies ms', 'merge ms'];
  console.log(header.join(' | '));
  for (const count of HOSTS) console.log((await measure(count)).join(' | '));
  process.exit();
}
