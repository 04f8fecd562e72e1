/** A generator that is stalled on purpose, and a server that is: which figures show it? */
import { setTimeout as delay } from 'node:timers/promises';
import { latencyFigures } from '../../plugin/result/delivery/latency.ts';
import { Sentinel, type SentinelReceipts } from '../../plugin/run/receivers/sentinel.ts';
import { until } from '../../plugin/run/wait.ts';
import { monotonicUs } from '../../protocol/clock/clock.ts';
import { connectionTo } from '../../test/helpers/connection.ts';
import { atMost, type Bound, type Comparison, known, near, type Section } from './comparison.ts';
import { broadcast, join, never, ROOM, type Setup, withSetup } from './setup.ts';

interface StallSize {
  receivers: number;
  stallMs: number;
  bound: Bound;
}

export async function stall(size: StallSize): Promise<Section> {
  return {
    title: 'Which process stood still',
    text:
      'SIGSTOP stops server or generator until some time after a broadcast is due. Latency rises by that time; the event loops ' +
      'and the reference receiver show which one it was.',
    rows: [...(await stalled('the generator', size)), ...(await stalled('the server', size))],
  };
}

type Who = 'the generator' | 'the server';
const ANSWER_TIMEOUT_MS = 10_000;
/** Before the broadcast is due: on a busy machine, a timer is late by less. */
const LEAD_MS = 100;

async function stalled(who: Who, size: StallSize): Promise<Comparison[]> {
  return withSetup({}, async (setup) => {
    await join(setup.fleet, size.receivers);
    const sentinel = await Sentinel.start({ connection: connectionTo(setup.server.started.url) }, never);
    try {
      return await compare(who, size, setup, await sentinel.join(ROOM, never));
    } finally {
      await sentinel.close();
    }
  });
}

async function compare(who: Who, size: StallSize, setup: Setup, sentinel: SentinelReceipts): Promise<Comparison[]> {
  const { server, control, fleet } = setup;
  const { bound } = size;
  const [process] = (await fleet.snapshot()).processes;
  await control.stats();
  const pid = who === 'the server' ? server.pid : (process?.pid ?? 0);
  const { stoppedMs, waitedMs, latency, serverSawMs } = await broadcastWhileStopped(setup, sentinel, pid, size);
  const generatorMs = known((await fleet.snapshot()).processes[0]?.eventLoop.delayMaxMs);
  const [own, other] = who === 'the server' ? [serverSawMs, generatorMs] : [generatorMs, serverSawMs];
  const rest = who === 'the server' ? 'the generator' : 'the server';
  const [sentinelMs, behindMs] = who === 'the server' ? [waitedMs, 0] : [0, waitedMs];
  return [
    near(`${who} stops: delay of its event loop, max`, 'ms', stoppedMs, own, bound),
    atMost(`${who} stops: delay of ${rest}'s event loop, half of it`, 'ms', stoppedMs / 2, other),
    near(`${who} stops: latency, max`, 'ms', waitedMs, known(latency.oneWayMs?.max), bound),
    near(`${who} stops: latency of the reference receiver`, 'ms', sentinelMs, known(latency.sentinelMs?.max), bound),
    near(
      `${who} stops: lag behind the reference receiver`,
      'ms',
      behindMs,
      known(latency.behindSentinelMs?.max),
      bound,
    ),
  ];
}

async function broadcastWhileStopped(setup: Setup, sentinel: SentinelReceipts, pid: number, size: StallSize) {
  // The request is sent; the broadcast itself is due 400 ms later.
  const ended = broadcast(setup, { count: 1, intervalMs: 0, receipts: size.receivers });
  await delay(400 - LEAD_MS);
  const beginUs = monotonicUs();
  process.kill(pid, 'SIGSTOP');
  try {
    await delay(LEAD_MS + size.stallMs);
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  const endUs = monotonicUs();
  const measurements = await ended;
  const [dueAtUs] = measurements.sent.map(({ intendedAtUs }) => intendedAtUs);
  await until(() => sentinel.receivedAtUs.size > 0, ANSWER_TIMEOUT_MS, never);
  const [stats] = await setup.control.stats();
  return {
    stoppedMs: (endUs - beginUs) / 1000,
    waitedMs: (endUs - known(dueAtUs)) / 1000,
    latency: latencyFigures({ ...measurements, sentinel }),
    serverSawMs: known(stats?.eventLoop.delayMaxMs),
  };
}
