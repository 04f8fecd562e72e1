/** The study of storms: how long the clients of each fault were away, what they missed, and what that changes. */
import type { Result } from '../../protocol/result/result.ts';
import { countBars } from '../../report/charts/bars.ts';
import type { Chart } from '../../report/charts/chart.ts';
import { decimals, integer } from '../../report/text/format.ts';
import { at, type Column, spreadIn, tenths } from './columns.ts';
import { combinationsIn } from './combinations.ts';
import type { MeasuredStudy } from './measured.ts';

const RECOVERY = 'CAPACITY_RECOVERY_SECONDS';
const JITTER = 'engine.reconnection.jitter';

const DROPPED = at('fault.dropped');
const CONNECTIONS = at('fault.connections');
const HALF_BACK_MS = at('fault.backMs.p50');
const ALL_BACK_MS = at('fault.backMs.all');
const RESTORED = at('fault.recovered');
const DUE = at('fault.broadcasts.due');
const MISSED = at('fault.broadcasts.missed');

export const COLUMNS: Column[] = [
  { title: 'Dropped', value: DROPPED, format: integer },
  { title: 'Half back, ms', value: HALF_BACK_MS, format: integer },
  { title: '99 % back, ms', value: at('fault.backMs.p99'), format: integer },
  { title: 'All back, ms', value: ALL_BACK_MS, format: integer },
  { title: 'Sessions restored', value: RESTORED, format: integer },
  { title: 'Copies due', value: DUE, format: integer },
  { title: 'Copies missed', value: MISSED, format: integer },
  { title: 'Copies sent again', value: at('fault.broadcasts.resent'), format: integer },
  { title: 'Peak attempts per s', value: at('fault.peakAttemptsPerSec'), format: integer },
  { title: 'Workers’ peak CPU, % of a core', value: at('fault.peakCpuPercent.worker'), format: tenths(0) },
];

export interface Storm {
  kind: string;
  /** Seconds for which sessions are kept; 0 without connection state recovery. */
  recoverySeconds: number;
  jitter: number;
  /** Usable runs, at least one. */
  results: Result[];
}

/** @returns the combinations of the study that have a usable run, in its order */
export function stormsOf(measured: MeasuredStudy): Storm[] {
  return combinationsIn(measured).flatMap(({ levels, results }) =>
    results.length === 0
      ? []
      : [
          {
            kind: String(levels['fault.kind']),
            recoverySeconds: Number(levels[RECOVERY] ?? 0),
            jitter: Number(levels[JITTER] ?? 0),
            results,
          },
        ],
  );
}

/** What each fault costs, and what connection state recovery and jitter change. */
export function answerOf(storms: Storm[]): string[] {
  const plain = storms.filter(({ recoverySeconds, jitter }) => recoverySeconds === 0 && jitter > 0);
  const [calm, dropping] = [
    plain.filter((storm) => mean(DROPPED, storm) === 0),
    plain.filter((storm) => mean(DROPPED, storm) > 0),
  ];
  const harmless = calm.filter((storm) => mean(MISSED, storm) === 0);
  return [
    ...dropping.map(
      (storm) =>
        `${storm.kind} dropped ${count(DROPPED, storm)} of ${count(CONNECTIONS, storm)} connections. Half of them were back after ${seconds(HALF_BACK_MS, storm)}, all after ${seconds(ALL_BACK_MS, storm)}; ${count(MISSED, storm)} of ${count(DUE, storm)} copies were missed.`,
    ),
    ...(harmless.length > 0
      ? [`${harmless.map(({ kind }) => kind).join(' and ')} dropped no connection, and no copy was missed.`]
      : []),
    ...calm
      .filter((storm) => !harmless.includes(storm))
      .map(
        (storm) =>
          `${storm.kind} dropped no connection; ${count(MISSED, storm)} of ${count(DUE, storm)} copies were missed.`,
      ),
    ...pairs(storms, 'With connection state recovery', ({ recoverySeconds }) => recoverySeconds > 0, {
      like: (one, other) => one.jitter === other.jitter && one.jitter > 0,
      difference: (one, other) =>
        `${count(MISSED, one)} instead of ${count(MISSED, other)} copies were missed after ${one.kind}${mean(RESTORED, one) === 0 ? ', where no session was restored' : ''}`,
    }),
    ...pairs(storms, 'Without jitter', ({ jitter }) => jitter === 0, {
      like: (one, other) => one.recoverySeconds === other.recoverySeconds && one.recoverySeconds === 0,
      difference: (one, other) =>
        `half were back after ${seconds(HALF_BACK_MS, one)} instead of ${seconds(HALF_BACK_MS, other)} after ${one.kind}`,
    }),
  ];
}

/** @returns bars for each combination that dropped connections or missed copies: the time until all were back, and the missed copies */
export function stormCharts(storms: Storm[]): { back: Chart | null; missed: Chart | null } {
  const shown = storms.filter((storm) => mean(DROPPED, storm) > 0 || mean(MISSED, storm) > 0);
  const bars = (value: Column['value']) =>
    Object.fromEntries(shown.map((storm) => [nameOf(storm), mean(value, storm)]));
  return {
    back: countBars('Milliseconds until all dropped connections were back', bars(ALL_BACK_MS)),
    missed: countBars('Copies missed', bars(MISSED)),
  };
}

/** @returns a sentence about the storms that differ in one setting alone; none without such a pair */
function pairs(
  storms: Storm[],
  beginning: string,
  differs: (storm: Storm) => boolean,
  {
    like,
    difference,
  }: { like: (one: Storm, other: Storm) => boolean; difference: (one: Storm, other: Storm) => string },
): string[] {
  const parts = storms.filter(differs).flatMap((one) => {
    const other = storms.find(
      (candidate) => candidate.kind === one.kind && !differs(candidate) && like(one, candidate),
    );
    return other ? [difference(one, other)] : [];
  });
  return parts.length > 0 ? [`${beginning}, ${parts.join('; ')}.`] : [];
}

function nameOf({ kind, recoverySeconds, jitter }: Storm): string {
  return [kind, ...(recoverySeconds > 0 ? ['recovery'] : []), ...(jitter === 0 ? ['no jitter'] : [])].join(', ');
}

/** @returns 0 of what no run has: a fault without drops has no time to come back */
function mean(value: Column['value'], { results }: Storm): number {
  return spreadIn({ value }, results)?.mean ?? 0;
}

function count(value: Column['value'], storm: Storm): string {
  return integer(Math.round(mean(value, storm)));
}

function seconds(value: Column['value'], storm: Storm): string {
  return `${decimals(mean(value, storm) / 1000, 1)} s`;
}
