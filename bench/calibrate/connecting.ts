/** Handshakes that take a known time at each stage, are refused in known ways, and arrive at a known rate. */
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { achievedRate } from '../../plugin/result/connections/rate.ts';
import { CONNECT_STAGES, type ConnectStage } from '../../protocol/connection.ts';
import { decodeHistogram, summaryMs } from '../../protocol/histogram.ts';
import type { Summary } from '../../protocol/result/parts.ts';
import { atMost, type Bound, type Comparison, exactly, known, near, type Section } from './comparison.ts';
import { pin } from './cores.ts';
import { distributionOf } from './distribution.ts';
import type { Refusal } from './slow-handshake.ts';
import { newOpenings, openAtRate, warmUp, withSlowServer } from './slow-server.ts';

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
      `Engine.IO's open packet and ${DELAYS_MS.namespace} ms before the namespace, and records the actual delays. TCP ` +
      'cannot be slowed down, so it has an upper bound only. Refusals come in turn, one cause after the other.',
    rows: [...(await stages(size)), ...(await refusals(size))],
  };
}

async function stages({ connections, ratePerSec, bound }: ConnectingSize): Promise<Comparison[]> {
  return withSlowServer({ delaysMs: DELAYS_MS, refusals: [null] }, TIMEOUT_MS, async (server, fleet) => {
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
  return withSlowServer({ delaysMs: NO_DELAYS_MS, refusals }, TIMEOUT_MS, async (server, fleet) => {
    const nobody = await freePort();
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

/** @returns a port on which nobody listens */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
