/** A generator that is stalled on purpose, and a server that is: which figures show it? */
import { setTimeout as delay } from 'node:timers/promises';
import { latencyFigures } from '../../plugin/result/delivery/latency.ts';
import { Sentinel, type SentinelReceipts } from '../../plugin/run/receivers/sentinel.ts';
import { until } from '../../plugin/run/wait.ts';
import { connectionTo } from '../../test/helpers/connection.ts';
import { atMost, type Bound, type Comparison, known, near, type Section } from './comparison.ts';
import { broadcast, join, ROOM, type Setup, withSetup } from './setup.ts';

interface StallSize {
  receivers: number;
  stallMs: number;
  bound: Bound;
}

export async function stall(size: StallSize): Promise<Section> {
  return {
    title: 'Which process stood still',
    text:
      'SIGSTOP stops server or generator while a broadcast is on its way. Latency rises by the same amount; the event loops ' +
      'and the reference receiver show which one it was.',
    rows: [...(await stalled('the generator', size)), ...(await stalled('the server', size))],
  };
}

type Who = 'the generator' | 'the server';
const never = new AbortController().signal;
const ANSWER_TIMEOUT_MS = 10_000;

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
  const { stoppedMs, latency, serverSawMs } = await broadcastWhileStopped(setup, sentinel, pid, size);
  const generatorMs = known((await fleet.snapshot()).processes[0]?.eventLoop.delayMaxMs);
  const [own, other] = who === 'the server' ? [serverSawMs, generatorMs] : [generatorMs, serverSawMs];
  const rest = who === 'the server' ? 'the generator' : 'the server';
  const [sentinelMs, behindMs] = who === 'the server' ? [stoppedMs, 0] : [0, stoppedMs];
  return [
    near(`${who} stops: delay of its event loop, max`, 'ms', stoppedMs, own, bound),
    atMost(`${who} stops: delay of ${rest}'s event loop, half of it`, 'ms', stoppedMs / 2, other),
    near(`${who} stops: latency, max`, 'ms', stoppedMs, known(latency.oneWayMs?.max), bound),
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
  await delay(390);
  const beginMs = performance.now();
  process.kill(pid, 'SIGSTOP');
  try {
    await delay(size.stallMs);
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  const stoppedMs = performance.now() - beginMs;
  const measurements = await ended;
  await until(() => sentinel.receivedAtUs.size > 0, ANSWER_TIMEOUT_MS, never);
  const [stats] = await setup.control.stats();
  return {
    stoppedMs,
    latency: latencyFigures({ ...measurements, sentinel }),
    serverSawMs: known(stats?.eventLoop.delayMaxMs),
  };
}
