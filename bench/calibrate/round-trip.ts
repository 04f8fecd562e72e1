/** Links that are slower in one direction: how receivers' latency and half a round trip reflect that. */

import { latencyFigures } from '../../plugin/result/delivery/latency.ts';
import { Probe } from '../../plugin/run/receivers/probe.ts';
import { until } from '../../plugin/run/wait.ts';
import { connectionTo } from '../../test/helpers/connection.ts';
import { type Bound, type Comparison, known, near, type Section } from './comparison.ts';
import { pin } from './cores.ts';
import { distributionOf } from './distribution.ts';
import { type KnownProcess, startKnown } from './known-process.ts';
import type { RelayConfig, RelayTruth } from './relay.ts';
import { broadcast, join, never, pinApart, ROOM, type Setup, withSetup } from './setup.ts';

interface RoundTripSize {
  receivers: number;
  broadcasts: number;
  links: Link[];
  bound: Bound;
}

type Link = Pick<RelayConfig, 'downMs' | 'upMs'>;
type Relay = KnownProcess<{ url: string }, RelayTruth>;

const INTERVAL_MS = 250;
const ANSWER_TIMEOUT_MS = 5000;

export async function roundTrip(size: RoundTripSize): Promise<Section> {
  const rows: Comparison[] = [];
  for (const link of size.links) rows.push(...(await overLink(size, link)));
  return {
    title: 'Round trip ÷ 2',
    text:
      'A relay delays traffic to and from the clients by different times. The latency of receivers is the way out; half of a ' +
      'round trip is the mean of both ways, and cannot tell these links apart.',
    rows,
  };
}

async function overLink(size: RoundTripSize, link: Link): Promise<Comparison[]> {
  const relays: Relay[] = [];
  const via = async (url: string) => {
    const relay: Relay = await startKnown('relay.ts', { ...link, toPort: Number(new URL(url).port) });
    relays.push(relay);
    return relay.started.url;
  };
  try {
    return await withSetup({}, (setup) => measure(setup, relays[0] as Relay, size, link), { via });
  } finally {
    await relays[0]?.close();
  }
}

async function measure(setup: Setup, relay: Relay, size: RoundTripSize, link: Link): Promise<Comparison[]> {
  const { receivers, broadcasts: count, bound } = size;
  await join(setup.fleet, receivers);
  await pinApart(setup);
  pin(relay.pid, 0);
  const probe = await connectProbe(relay.started.url);
  try {
    const trips: number[] = [];
    probe.onRoundTrip = ({ roundTripUs }) => void trips.push(roundTripUs);
    const measurements = await broadcast(setup, { count, intervalMs: INTERVAL_MS, receipts: count * receivers });
    await until(() => trips.length >= count, ANSWER_TIMEOUT_MS, never);
    measurements.roundTripsUs.underLoad = trips;
    return rows(link, await relay.truth(), latencyFigures(measurements), bound);
  } finally {
    probe.close();
  }
}

function rows(
  { downMs, upMs }: Link,
  truth: RelayTruth,
  { oneWayMs, roundTripHalfMs }: ReturnType<typeof latencyFigures>,
  bound: Bound,
): Comparison[] {
  const what = `${downMs} ms out, ${upMs} ms back`;
  const down = distributionOf(truth.downUs.map((us) => us / 1000)).p50;
  const up = distributionOf(truth.upUs.map((us) => us / 1000)).p50;
  const half = known(roundTripHalfMs.underLoad?.p50);
  return [
    near(`${what}: latency of receivers, p50`, 'ms', down, known(oneWayMs?.p50), bound),
    near(`${what}: round trip ÷ 2 against the mean of both ways`, 'ms', (down + up) / 2, half, bound),
  ];
}

async function connectProbe(target: string): Promise<Probe> {
  const probe = await Probe.connect({ connection: connectionTo(target) }, never);
  // As in a run; it marks this connection as no receiver.
  await probe.join(`${ROOM}:single`);
  await probe.join(ROOM);
  return probe;
}
