/**
 * Checks that memory was measured, and that memory grows linearly with the connections. Otherwise, memory per
 * connection is unknown.
 */

import { findingValues } from '../../../../protocol/result/findings.ts';
import type { Result } from '../../../../protocol/result/result.ts';
import { inServicePoints } from '../../../../report/figures/in-service.ts';
import { layerFamily, mainWorkerLayer, PAGE_NOISE_BYTES } from '../../../../report/figures/layers.ts';
import { withUnit } from '../../../../report/model/amount.ts';
import { type FitPoint, fitLine } from '../../../../report/statistics/statistics.ts';
import { fitBend } from '../../../../report/statistics/straightness.ts';
import { decimalsText, integerText, isShownInPercent, kilobytesText } from '../../../../report/text/format.ts';
import { withoutBaseline } from '../../../result/memory/assemble-memory.ts';
import type { Measurements } from '../../../run/measurements/measurements.ts';
import { type CheckFinding, defineCheck, defineCheckUnless, type FindingCheck } from '../../check.ts';

/** Minimum number of plateaus with which a curve can be detected. Two points are always on a line. */
const MIN_PLATEAUS = 3;

/**
 * Checks of memory figures. A slope with a wide interval is not a problem: the report leaves out that slope, and other
 * slopes stay valid.
 */
export const memoryChecks: FindingCheck[] = [
  defineCheck('MEMORY_GROWS', ({ memory: { perConnectionBytes } }) => {
    const layer = mainWorkerLayer(perConnectionBytes);
    return perConnectionBytes[layer]?.doubt === 'grows'
      ? `${layer} grew while the number of connections did not; the interval allows for that growth`
      : undefined;
  }),
  defineCheck('MEMORY_NOT_LINEAR', ({ memory }) => bend(memory)),
  defineCheckUnless('abort', 'READINGS_MISSING', ({ memory }, measured) => missing(memory, measured)),
  defineCheckUnless(
    'abort',
    'PLATEAUS_UNUSABLE',
    ({ connections: { failed } }, { plateaus, memory, overTime, fault }) => {
      // Runs with waves, churn or a fault measure no memory per connection.
      if (overTime || fault || !memory) return undefined;
      const different = new Set(plateaus.map(({ connections }) => connections));
      if (different.size === 0 || different.size >= MIN_PLATEAUS) return undefined;
      const counts = [...different].map(integerText).join(' and ');
      return {
        message: `memory was read ${counts === '0' ? 'only while no connection was open' : `at ${counts} connections`}`,
        values: findingValues(
          Object.fromEntries([...different].map((count, index) => [`connections at reading ${index + 1}`, count])),
        ),
        // If enough pauses were planned, failed connections can be the reason why several plateaus have the same number
        // of connections.
        ...(failed > 0 && plateaus.length >= MIN_PLATEAUS && { fix: 'see why the others failed' }),
      };
    },
  ),
];

/**
 * Minimum share of the memory per connection that a memory figure must have to be checked. Smaller figures do not
 * change the headline.
 */
const MIN_SHARE = 0.2;
/**
 * Curvature in bytes that memory pages can cause: a process takes pages in steps, so RSS is not exactly linear even if
 * the heap is. The curvature is the distance between the curve and the line at its middle.
 */
const PAGES_BYTES = 1024 ** 2;
/** Noise of V8's exact memory figure in bytes: V8 keeps code that it compiles during the run. */
const KEPT_NOISE_BYTES = PAGES_BYTES / 2;

function bend(memory: Result['memory']): CheckFinding {
  const bent = bentLayers(memory);
  const [worst] = bent.toSorted((a, b) => Math.abs(b.share) - Math.abs(a.share));
  if (worst) return notLinear(`${bent.map(({ layer }) => layer).join(', ')} at rest`, worst.points);
  const { perConnectionBytes, inService, plateaus } = memory;
  const layer = mainWorkerLayer(perConnectionBytes);
  if (inService?.perConnectionBytes[layer]?.doubt !== 'curved') return undefined;
  return notLinear(`${layer} in service`, inServicePoints({ plateaus, inService }, layer));
}

/**
 * Finds memory figures that do not grow linearly, among the figures of the deployment that are part of the headline.
 */
function bentLayers({ layers, perConnection, perConnectionBytes, plateaus, inspector }: Result['memory']) {
  const parts = perConnection?.parts ?? [];
  const quoted = parts.find(({ title }) => title === 'workers')?.layer ?? mainWorkerLayer(perConnectionBytes);
  const whole = perConnection?.bytes ?? perConnectionBytes[quoted]?.slope ?? 0;
  return layers.flatMap(({ id: layer, belongsTo }) => {
    const { doubt, slope } = perConnectionBytes[layer] ?? {};
    // Memory pages of JVM and Go contain garbage, so they do not grow linearly with the connections.
    const isUnclean = inspector !== undefined && inspector.runtime !== 'v8' && layerFamily(layer) === 'worker';
    const isCounted = parts.some((part) => part.layer === layer);
    const isOfDeployment = isCounted || (belongsTo === 'deployment' && !isUnclean);
    if (doubt !== 'curved' || slope === undefined || !isOfDeployment) return [];
    const points = withoutBaseline(plateaus).flatMap(({ connections, [layer]: y }) =>
      y === undefined ? [] : [{ x: connections, y }],
    );
    const { share = 0, offBytes = 0 } = fitBend(points) ?? {};
    const bytes = Math.abs(share * slope);
    const noiseBytes = quoted === 'workerKept' && layerFamily(layer) === 'worker' ? PAGE_NOISE_BYTES : PAGES_BYTES;
    const matters = layer === quoted ? offBytes > KEPT_NOISE_BYTES : bytes > MIN_SHARE * whole && offBytes > noiseBytes;
    return matters ? [{ layer, share, points }] : [];
  });
}

function shareOf(points: FitPoint[]): number {
  return fitBend(points)?.share ?? 0;
}

function notLinear(what: string, points: FitPoint[]): CheckFinding {
  const share = shareOf(points);
  const each = fitLine(points)?.slope ?? 0;
  const bytes = Math.abs(share * each);
  const size = isShownInPercent(each, bytes)
    ? `${decimalsText(100 * Math.abs(share), 0)} % of the average`
    : withUnit('kilobytes', bytes);
  return {
    message: `${what}: the last connections cost ${share > 0 ? 'more' : 'less'} than the first ones, by ${size}`,
    values: [
      ...findingValues({ 'change of the cost': share * each }, 'bytes'),
      ...findingValues({ 'change of the cost, of the average': 100 * share }, '%'),
    ],
  };
}

/**
 * Finds memory figures that are missing at some plateaus. No line can be fitted to them, so the report would lack them
 * without an explanation.
 */
function missing(
  { plateaus, inService, absent, layers }: Result['memory'],
  { uncollected }: Measurements,
): CheckFinding {
  const all = [lackingIn(plateaus, uncollected), lackingIn(inService?.plateaus ?? [], uncollected)];
  const lacking = [...new Set(all.flatMap(({ ids }) => ids))];
  if (lacking.length === 0) return undefined;
  const times = Math.max(...all.map((one) => one.times));
  const why = lacking.map((id) => absent[id]).find((reason) => reason !== undefined);
  return {
    values: findingValues({ 'plateaus without a reading': times, plateaus: plateaus.length }),
    message: `${lacking.map((id) => layers.find((layer) => layer.id === id)?.title ?? id).join(' and ')} could not be read at ${times} of ${plateaus.length} plateaus${why ? `: ${why}` : ''}`,
    fix: 'name the processes that are there during the whole run, and run as root or as their user',
  };
}

/**
 * Ids of memory figures that can disappear during a run: child processes of workers can exit while they are read, and
 * `malloc` may use another heap.
 */
const MAY_BE_GONE = ['workerChildrenPss', 'workerMalloc'];

/**
 * Finds memory figures that only some readings have.
 * @param known figures whose absence has its own reason
 * @returns the figures, and the number of readings that lack at least one of these figures
 */
function lackingIn(readings: Record<string, number>[], known: string[]): { ids: string[]; times: number } {
  const figures = [...new Set(readings.flatMap(Object.keys))].filter((id) => id.startsWith('worker'));
  const ids = figures.filter(
    (id) => !MAY_BE_GONE.includes(id) && !known.includes(id) && readings.some((reading) => !(id in reading)),
  );
  return { ids, times: readings.filter((reading) => ids.some((id) => !(id in reading))).length };
}

/** Reports memory of the machine that grew with the connections but that no measured process holds. */
type Balance = NonNullable<Result['memory']['balance']>;

export const unexplainedMemoryChecks: FindingCheck[] = [
  defineCheck('MEMORY_UNEXPLAINED', ({ memory: { balance } }) => (balance ? unexplainedMemory(balance) : undefined)),
];

const PLACES: Record<Balance['parts'][number]['part'], string> = {
  shared: 'shared memory (tmpfs, System V, memfd)',
  programs: 'other programs',
  kernel: 'the kernel',
};

function unexplainedMemory({ parts, holders }: Balance): CheckFinding {
  const significant = parts.filter(({ isSignificant }) => isSignificant);
  const certain = holders.filter(({ isSignificant }) => isSignificant);
  if (significant.length + certain.length === 0) return undefined;
  // If no process is certain to hold the memory, the processes whose memory grew most are reported as suspects.
  const named = certain.length > 0 ? certain : holders;
  const texts = [
    ...significant.map((one) => `${intervalText(one)} in ${PLACES[one.part]}`),
    ...named.map(
      (one) => `${intervalText(one)} in ${one.pid === null ? one.name : `process ${one.pid} (${one.name})`}`,
    ),
  ];
  const message = `the machine took memory per connection beyond the measured processes: ${texts.join('; ')}`;
  const values = [...significant.map((one) => ({ ...one, name: PLACES[one.part] })), ...named].map(
    ({ name, bytes: value, low95, high95 }) => ({ name, value, unit: 'bytes', low95, high95 }),
  );
  const pids = named.flatMap(({ pid }) => pid ?? []);
  if (pids.length === 0) return { message, values };
  const fix = `see whether the server keeps data in process ${pids.join(', ')}: if so, add this to the cost of a connection; if not, end it before the run`;
  return { message, values, fix };
}

function intervalText({ bytes, low95, high95 }: Omit<Balance['parts'][number], 'part'>): string {
  const interval =
    low95 === null || high95 === null ? '' : ` (between ${kilobytesText(low95)} and ${kilobytesText(high95)} KB)`;
  return `${kilobytesText(bytes)} KB${interval}`;
}
