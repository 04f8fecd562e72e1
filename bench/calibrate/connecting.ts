/** Handshakes that take a known time at each stage, are refused in known ways, and arrive at a known rate. */
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Fleet } from '../../plugin/fleet/fleet.ts';
import { achievedRate } from '../../plugin/result/rate.ts';
import { decodeHistogram, summaryMs } from '../../protocol/histogram.ts';
import { CONNECT_STAGES, type ConnectStage } from '../../protocol/link.ts';
import type { Summary } from '../../protocol/result.ts';
import { fleetSettings } from '../../test/helpers/fleet.ts';
import { atMost, type Bound, type Comparison, exactly, known, near, type Section } from './comparison.ts';
import { pin } from './cores.ts';
import { distributionOf } from './distribution.ts';
import { KnownProcess } from './known-process.ts';
import type { Refusal, SlowHandshakeConfig, SlowHandshakeStarted, SlowHandshakeTruth } from './slow-handshake.ts';

interface ConnectingSize {
  connections: number;
  ratePerSec: number;
  /** How often, for each cause. */
  refusals: number;
  bound: Bound;
}

type SlowServer = KnownProcess<SlowHandshakeStarted, SlowHandshakeTruth>;

const DELAYS_MS = { upgrade: 50, open: 100, namespace: 150 };
const NO_DELAYS_MS = { upgrade: 0, open: 0, namespace: 0 };
/** The server cannot record the delay of connections that wait for its garbage collection. */
const NO_COLLECTIONS = ['--min-semi-space-size=128', '--max-semi-space-size=128'];
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
      'kernel performs the TCP handshake and cannot be slowed down, so TCP has an upper bound only. The same number of ' +
      'connections has been made and closed before, so that code is compiled and the tables of open files have grown; ' +
      'each doubling of these tables stops a process for about 10 ms. Refusals come in turn, one cause after the other.',
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
    const { counts, ...since } = snapshot.openings;
    const newCounts = counts.map((count, interval) => count - (before.openings.counts[interval] ?? 0));
    const rate = achievedRate([{ openings: { ...since, counts: newCounts } }], ratePerSec);
    return [
      ...CONNECT_STAGES.map((stage) => exactly(`${stage}: connections`, connections, known(measured(stage)?.count))),
      atMost('tcp: p50', 'ms', 1, known(measured('tcp')?.p50)),
      ...rows('upgrade', upgrade, measured('upgrade'), bound),
      ...rows('open', open, measured('open'), bound),
      ...rows('namespace', namespace, measured('namespace'), bound),
      ...rows('total', totals, measured('total'), bound),
      near('rate', '1/s', (accepted.length - 1) / seconds, known(rate?.perSec), {
        share: RATE_SHARE + RATE_UNCERTAIN_SECONDS / seconds,
      }),
    ];
  });
}

function rows(stage: ConnectStage, truthUs: number[], measured: Summary | null, bound: Bound): Comparison[] {
  const truth = distributionOf(truthUs.map((us) => us / 1000));
  return [
    near(`${stage}: p50`, 'ms', truth.p50, known(measured?.p50), bound),
    near(`${stage}: p99`, 'ms', truth.p99, known(measured?.p99), bound),
    near(`${stage}: max`, 'ms', truth.max, known(measured?.max), bound),
  ];
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
    const nobody = await freePort();
    await Promise.all([
      openAtRate(fleet, refusals.length * times, ratePerSec),
      openAtRate(fleet, times, ratePerSec, `http://127.0.0.1:${nobody}`),
    ]);
    const [{ opened, attemptFailures }, truth] = [await fleet.snapshot(), await server.truth()];
    const causes = refusals.filter((refusal) => refusal !== null);
    const others = Object.keys(attemptFailures).filter(
      (cause) => cause !== 'ECONNREFUSED' && !causes.includes(cause as Refusal),
    );
    return [
      exactly('accepted', truth.acceptedAtUs.length, opened),
      ...causes.map((cause) => exactly(`refused: ${cause}`, known(truth.refused[cause]), attemptFailures[cause] ?? 0)),
      exactly('refused: ECONNREFUSED (nobody listens)', times, attemptFailures.ECONNREFUSED ?? 0),
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
  const server: SlowServer = await KnownProcess.start('slow-handshake.ts', config, NO_COLLECTIONS);
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

/** @returns a port on which nobody listens */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
