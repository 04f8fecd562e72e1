/** Handshakes that take a known time at each stage, are refused in known ways, and arrive at a known rate. */
import { setTimeout as delay } from 'node:timers/promises';
import { Fleet } from '../../plugin/fleet/fleet.ts';
import { achievedRate } from '../../plugin/result/connections.ts';
import { CONNECT_STAGES, type ConnectStage } from '../../protocol/connection.ts';
import { decodeHistogram, summaryMs } from '../../protocol/histogram.ts';
import type { FleetSnapshot } from '../../protocol/link/snapshot.ts';
import { freePorts } from '../../server/stack/ports.ts';
import { fleetSettings } from '../../test/helpers/fleet.ts';
import { atMost, type Bound, type Comparison, exactly, known, near, type Section } from './comparison.ts';
import { pin } from './cores.ts';
import { distributed } from './distribution.ts';
import { type KnownProcess, startKnown } from './known-process.ts';
import type { Refusal, SlowHandshakeConfig, SlowHandshakeTruth } from './slow-handshake.ts';

type SlowServer = KnownProcess<{ url: string }, SlowHandshakeTruth>;
type Openings = Pick<FleetSnapshot, 'openings'>;

/** The server cannot record the delay of connections that wait for its garbage collection. */
const NO_COLLECTIONS = ['--min-semi-space-size=128', '--max-semi-space-size=128'];

interface ConnectingSize {
  connections: number;
  ratePerSec: number;
  /** How often, for each cause. */
  refusals: number;
  bound: Bound;
}

const DELAYS_MS = { upgrade: 50, open: 100, namespace: 150 };
const NO_DELAYS_MS = { upgrade: 0, open: 0, namespace: 0 };
/** Stages that a WebSocket without TLS and without polling before it does not have. */
const ABSENT = new Set<ConnectStage>(['tls', 'change']);
/** For replies that never arrive. */
const TIMEOUT_MS = 1000;
/** The rate is counted in intervals of 10 ms, so it is uncertain by one at each end. */
const RATE_SHARE = 0.02;
const RATE_UNCERTAIN_SECONDS = 0.02;

export async function connecting(size: ConnectingSize): Promise<Section> {
  return {
    title: 'Connecting',
    text:
      `The server delays each connection by ${DELAYS_MS.upgrade} ms before the upgrade, ${DELAYS_MS.open} ms before ` +
      `Engine.IO's open packet and ${DELAYS_MS.namespace} ms before the namespace, and records the actual delays. The ` +
      'server cannot slow TCP down, so TCP has an upper bound only.',
    rows: [...(await stages(size)), ...(await refusals(size))],
  };
}

async function stages({ connections, ratePerSec, bound }: ConnectingSize): Promise<Comparison[]> {
  return withSlowServer({ delaysMs: DELAYS_MS, refusals: [null] }, async (server, fleet) => {
    const [process] = (await fleet.snapshot()).processes;
    pin(server.pid, 0);
    if (process) pin(process.pid, 1);
    await warmUp(fleet, connections);
    const [before] = [await fleet.snapshot(), await server.truth()];
    await openAtRate(fleet, connections, ratePerSec);
    const [snapshot, truth] = [await fleet.snapshot(), await server.truth()];
    const measured = (stage: ConnectStage) => {
      const histogram = decodeHistogram(snapshot.connectUs[stage]);
      histogram.subtract(decodeHistogram(before.connectUs[stage]));
      return summaryMs(histogram);
    };
    const { upgrade, open, namespace } = truth.stagesUs;
    const totals = upgrade.map((us, index) => us + (open[index] ?? 0) + (namespace[index] ?? 0));
    const accepted = truth.acceptedAtUs.toSorted((a, b) => a - b);
    const seconds = (known(accepted.at(-1)) - known(accepted[0])) / 1e6;
    const ramp = { beganAtUs: 0, endedAtUs: Number.POSITIVE_INFINITY, seconds: connections / ratePerSec, connections };
    const rate = achievedRate([newOpenings(before, snapshot)], [ramp]);
    return [
      ...CONNECT_STAGES.map((stage) =>
        exactly(`${stage}: connections`, ABSENT.has(stage) ? 0 : connections, measured(stage)?.count ?? 0),
      ),
      atMost('tcp: p50', 'ms', 1, known(measured('tcp')?.p50)),
      ...Object.entries({ upgrade, open, namespace, total: totals }).flatMap(([stage, us]) =>
        distributed(stage, us, measured(stage as ConnectStage), bound),
      ),
      near('rate', '1/s', (accepted.length - 1) / seconds, known(rate?.perSec), {
        share: RATE_SHARE + RATE_UNCERTAIN_SECONDS / seconds,
      }),
    ];
  });
}

async function refusals({ refusals: times, ratePerSec }: ConnectingSize): Promise<Comparison[]> {
  const refusals: (Refusal | null)[] = [
    null,
    'http_503',
    null,
    'closed',
    'namespace_refused',
    'not_engineio',
    'timeout_upgrade',
    'timeout_open',
  ];
  return withSlowServer({ delaysMs: NO_DELAYS_MS, refusals }, async (server, fleet) => {
    const [nobody] = await freePorts(1);
    await Promise.all([
      openAtRate(fleet, refusals.length * times, ratePerSec),
      openAtRate(fleet, times, ratePerSec, `http://127.0.0.1:${nobody}`),
    ]);
    const [{ alive, ended, failed }, truth] = [(await fleet.snapshot()).accounts, await server.truth()];
    const opened = Object.values(ended).reduce((sum, count) => sum + count, alive);
    const causes = refusals.filter((refusal) => refusal !== null);
    const others = Object.keys(failed).filter(
      (cause) => cause !== 'ECONNREFUSED' && !causes.includes(cause as Refusal),
    );
    return [
      exactly('accepted', truth.acceptedAtUs.length, opened),
      ...causes.map((cause) => exactly(`refused: ${cause}`, known(truth.refused[cause]), failed[cause] ?? 0)),
      exactly('refused: ECONNREFUSED (nobody listens)', times, failed.ECONNREFUSED ?? 0),
      exactly('other causes', 0, others.length),
    ];
  });
}

/**
 * Opens and closes as many connections as will be measured, so that code is compiled, and the kernel's tables of open
 * files have grown: each doubling stops a process for some 10 ms.
 */
async function warmUp(fleet: Fleet, count: number): Promise<void> {
  const connections = Array.from({ length: count }, () => fleet.connection());
  await Promise.all(connections.map((connection) => connection.open('/')));
  await Promise.all(connections.map((connection) => connection.close()));
}

/** Opens connections on an absolute schedule; failures are only counted. */
async function openAtRate(fleet: Fleet, count: number, ratePerSec: number, url?: string): Promise<void> {
  const startMs = performance.now();
  const opening: Promise<unknown>[] = [];
  for (let index = 0; index < count; index++) {
    await delay(Math.max(0, startMs + (index * 1000) / ratePerSec - performance.now()));
    const opened = fleet.connection().open('/', url === undefined ? undefined : { overrides: { url } });
    opening.push(opened.catch(() => {}));
  }
  await Promise.all(opening);
}

async function withSlowServer<T>(
  config: SlowHandshakeConfig,
  work: (server: SlowServer, fleet: Fleet) => Promise<T>,
): Promise<T> {
  const server: SlowServer = await startKnown('slow-handshake.ts', config, NO_COLLECTIONS);
  let fleet: Fleet | undefined;
  try {
    const settings = fleetSettings(server.started.url);
    settings.defaults.connectTimeoutMs = TIMEOUT_MS;
    fleet = await Fleet.start(settings, 1);
    return await work(server, fleet);
  } finally {
    await fleet?.close();
    await server.close();
  }
}

/** @returns what was opened between two snapshots */
function newOpenings(before: Openings, after: Openings): Openings {
  const { counts, ...since } = after.openings;
  const newCounts = counts.map((count, interval) => count - (before.openings.counts[interval] ?? 0));
  return { openings: { ...since, counts: newCounts } };
}
