/** A hub on a free loopback port, and agents with simulated engines. */
import { randomUUID } from 'node:crypto';
import type { TestContext } from 'node:test';
import { HostAgent } from '../../plugin/conduct/hosts/generator-host.ts';
import type { HostHello, MachineRow } from '../../plugin/conduct/hosts/host-messages.ts';
import { HostHub, type HostHubEvents } from '../../plugin/conduct/hosts/hub.ts';
import { createConductorSecret, type JoinAddress, parseJoinToken } from '../../plugin/conduct/hosts/join-token.ts';
import { type ConductorListener, openConductorListener } from '../../plugin/conduct/hosts/listener.ts';
import { EngineLink, NO_STATUS } from '../../plugin/run/link.ts';
import type { CapacityError } from '../../protocol/codes/errors.ts';
import { type MessageCarrier, openThreadCarrier } from '../../protocol/link/carrier.ts';
import type { EngineMessage, EngineReport, RunMessage } from '../../protocol/link/link-messages.ts';
import { frozenBroadcast, snapshot } from './measurements.ts';
import { eventually } from './poll.ts';

export const secret = await createConductorSecret();
type Closer = () => Promise<void>;
const agentsOf = new WeakMap<TestContext, Closer[]>();

export async function startHub(t: TestContext, hosts: number, lostAfterMs?: number, own = secret) {
  const listener = await openConductorListener('127.0.0.1', 0, own);
  const notes: string[] = [];
  /** Events of the hub, as text. */
  const eventLog: string[] = [];
  const rows: MachineRow[] = [];
  const refusals: CapacityError[] = [];
  const events: HostHubEvents = {
    onNote: (text) => notes.push(text),
    onRefused: (error) => refusals.push(error),
    onPhase: (index, stage) => eventLog.push(`phase ${index} ${stage}`),
    onLost: (host, why) => eventLog.push(`${host} lost: ${why}`),
    onMachine: ({ name }, row) => {
      eventLog.push(`row of ${name}`);
      rows.push(row);
    },
    onSkipped: (users) => users > 0 && eventLog.push(`${users} skipped`),
  };
  const expected = { hosts, version: '1', inputs: { scenarios: 'same' }, arrivals: [10 * hosts, 0] };
  const hub = new HostHub(listener, expected, events, lostAfterMs);
  const closers = agentsOf.get(t) ?? [];
  agentsOf.set(t, closers);
  t.after(async () => {
    hub.stop();
    // Closes agents first, because the listener waits for connected hosts.
    await Promise.all(closers.map((close) => close()));
    await listener.close();
  });
  return { hub, join: joinOf(listener), notes, eventLog, rows, refusals };
}

export function joinOf(listener: ConductorListener): JoinAddress {
  return parseJoinToken(listener.joinToken('127.0.0.1')) as JoinAddress;
}

export function helloOf(hello: Partial<HostHello>): HostHello {
  return {
    ...{ host: 'a', instance: randomUUID(), kernel: 'another', version: '1', hosts: 1 },
    ...{ inputs: { scenarios: 'same' }, arrivals: [10, 0], cores: 2, memoryLimitBytes: null },
    machine: { model: 'AMD EPYC', system: 'Linux 6.18', cores: 2, memoryBytes: 2 ** 33 },
    ...hello,
  };
}

/**
 * Returns an agent. It closes together with the hub of the test.
 * @param answer returns the replies of its engine
 */
export function newAgent(
  t: TestContext,
  join: JoinAddress,
  hello: Partial<HostHello>,
  answer: (message: RunMessage) => EngineReport | undefined = () => undefined,
  silentAfterMs?: number,
) {
  const runId = randomUUID();
  const engine: MessageCarrier<EngineMessage, RunMessage> = openThreadCarrier(runId);
  const say = (report: EngineReport) => engine.send({ from: { host: 'kernel', engine: '1' }, ...report });
  const heard: RunMessage[] = [];
  engine.onMessage = (message) => {
    if ('from' in message) return;
    heard.push(message);
    const report = answer(message);
    if (report) say(report);
  };
  /** Reasons for which the conductor ended the host. */
  const ends: (CapacityError | string)[] = [];
  const agent = new HostAgent({
    join,
    hello: helloOf(hello),
    carrier: openThreadCarrier(runId),
    admit: async () => {},
    onEnd: (_, why) => ends.push(why),
    ...(silentAfterMs !== undefined && { silentAfterMs }),
  });
  agentsOf.get(t)?.push(async () => {
    await agent.close();
    engine.close();
  });
  return { agent, runId, ends, heard, say };
}

/**
 * Returns the replies of an engine whose members have all received every broadcast. `reordered` counts its `freeze`
 * requests.
 */
export function engineOf(members: number) {
  let asked = 0;
  const latenciesUs = Array.from({ length: members }, (_, index) => 10 * (index + 1));
  return (message: RunMessage): EngineReport | undefined => {
    if (message.type === 'snapshot') {
      const accounts = {
        asked: members,
        pending: 0,
        alive: members,
        peak: members,
        failed: {},
        ended: {},
        returned: 0,
      };
      return { ...message, snapshot: snapshot({ accounts }) };
    }
    if (message.type === 'freeze') {
      const row = frozenBroadcast(1, latenciesUs, { reordered: ++asked });
      return { type: 'frozen', requestId: message.requestId, rows: [row] };
    }
    return message.type === 'close' ? { type: 'closed', requestId: message.requestId } : undefined;
  };
}

interface TwoHosts {
  /** Longest time in milliseconds that a host and the conductor may be disconnected from each other. */
  awayMs?: number;
  silentAfterMs?: number;
  /** Returns the port over which the second host connects to the conductor. */
  routeTo?: (port: number) => Promise<number>;
}

/** Starts two hosts, a and b, with engines of 5 members each, and the run's link to them. */
export async function twoHosts(
  t: TestContext,
  { awayMs, silentAfterMs = 5000, routeTo = async (port) => port }: TwoHosts = {},
) {
  const test = await startHub(t, 2, awayMs);
  const breakLimits = awayMs === undefined ? {} : { awayMs, replyTimeoutMs: 2000 };
  const link = new EngineLink(test.hub, { hosts: 2, ...breakLimits });
  const ports = [test.join.port, await routeTo(test.join.port)];
  const [first, second] = ['a', 'b'].map((host, index) => {
    const join = { ...test.join, port: ports[index] as number };
    return newAgent(t, join, { host, hosts: 2 }, engineOf(5), silentAfterMs);
  }) as [ReturnType<typeof newAgent>, ReturnType<typeof newAgent>];
  const never = new AbortController().signal;
  const joined = test.hub.joined(5000, never);
  await Promise.all([first, second].map(({ agent }) => agent.join()));
  for (const { say } of [first, second]) {
    say({ type: 'ready', engines: 1 });
    say({ type: 'status', status: { ...NO_STATUS, started: 5, connected: 5, joined: 5 } });
  }
  await joined;
  await link.ready(never);
  await eventually('both statuses', () => link.status.connected === 10);
  return { ...test, link, first, second };
}
