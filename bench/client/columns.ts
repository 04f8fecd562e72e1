/**
 * Columns of the client bench. A figure is also shown as a multiple of the floor: a minimal client in C, measured
 * directly before or after.
 */
import { confidenceInterval, pooledNoise, spreadOf } from '../../report/statistics/spread.ts';
import { decimalsText, integerText, kilobytesText } from '../../report/text/format.ts';
import { type BenchColumn, type BenchRound, variantValues, withSpread } from '../rounds.ts';
import type { MeasuredClients } from './measure-clients.ts';

export const FLOOR_LABEL = 'bare epoll client in C';
export const WITHOUT_PLUGIN_LABEL = 'without the plugin';

/**
 * Measurements of a generator, and of the floor (a minimal client in C) directly before or after. Undefined if the
 * floor failed. With the option `--measuring`, the floor is the generator without its plugin.
 */
export interface GeneratorAndFloor {
  own: MeasuredClients;
  floor: MeasuredClients | undefined;
}

type Figure = (measured: MeasuredClients) => number;

/**
 * Returns the columns. Without TLS, the multiple of memory is omitted, because the floor's 24 bytes per connection are
 * within the rounding of memory readings.
 */
export function generatorColumns(tls: boolean): BenchColumn<GeneratorAndFloor>[] {
  const memory: Figure = ({ memoryPerConnectionBytes }) => memoryPerConnectionBytes;
  return [
    ...withMultiple('CPU per connection (µs)', ({ cpuPerConnectionUs }) => cpuPerConnectionUs, integerText),
    ...withMultiple(
      'CPU per message (µs)',
      ({ cpuPerMessageUs }) => cpuPerMessageUs,
      (us) => decimalsText(us, 2),
    ),
    ...withMultiple('its memory per connection (KB)', memory, kilobytesText).slice(0, tls ? 2 : 1),
    figure(
      'CPU while idle (% of a core)',
      ({ idlePercent }) => idlePercent,
      (percent) => decimalsText(percent, 1),
    ),
  ];
}

/** Returns the columns of the option `--measuring`. */
export function measuringColumns(): BenchColumn<GeneratorAndFloor>[] {
  const compared = (title: string, of: Figure, text: (value: number) => string) =>
    withMultiple(title, of, text, WITHOUT_PLUGIN_LABEL, '× without');
  const inTwoDecimals = (us: number) => decimalsText(us, 2);
  return [
    ...compared('CPU per connection (µs)', ({ cpuPerConnectionUs }) => cpuPerConnectionUs, integerText),
    ...compared('CPU per message (µs)', ({ cpuPerMessageUs }) => cpuPerMessageUs, inTwoDecimals),
    figure(
      'CPU while idle (% of a core)',
      ({ idlePercent }) => idlePercent,
      (percent) => decimalsText(percent, 1),
      WITHOUT_PLUGIN_LABEL,
    ),
    figure(
      'its main thread (% of a core)',
      ({ mainThreadPercent }) => mainThreadPercent,
      (percent) => decimalsText(percent, 1),
      WITHOUT_PLUGIN_LABEL,
    ),
    figure(
      'its memory per connection (KB)',
      ({ memoryPerConnectionBytes }) => memoryPerConnectionBytes,
      kilobytesText,
      WITHOUT_PLUGIN_LABEL,
    ),
    ...compared('CPU of the worker per connection (µs)', ({ workerCpuUs }) => workerCpuUs, integerText),
  ];
}

function withMultiple(
  title: string,
  of: Figure,
  text: (value: number) => string,
  floorLabel = FLOOR_LABEL,
  multipleTitle = '× floor',
): BenchColumn<GeneratorAndFloor>[] {
  const cell = (rounds: BenchRound<GeneratorAndFloor>[], variant: string) => multiple(rounds, variant, of, floorLabel);
  return [figure(title, of, text, floorLabel), { title: multipleTitle, cell }];
}

/**
 * Returns the column of a figure. The floor's cell contains all of its measurements, including measurements for other
 * generators.
 */
function figure(
  title: string,
  of: Figure,
  text: (value: number) => string,
  floorLabel = FLOOR_LABEL,
): BenchColumn<GeneratorAndFloor> {
  const floors = (rounds: BenchRound<GeneratorAndFloor>[]) =>
    new Set(rounds.flatMap((round) => Object.values(round)).flatMap(({ floor }) => floor ?? []));
  const values = (rounds: BenchRound<GeneratorAndFloor>[], variant: string) =>
    variant === floorLabel ? [...floors(rounds)].map(of) : variantValues(rounds, variant, ({ own }) => of(own));
  return { title, cell: (rounds, variant) => withSpread(values(rounds, variant), text) };
}

/**
 * Returns the mean multiple with a 95 % interval. The interval uses the pooled spread of all generators between rounds,
 * or the generator's own spread if that is larger.
 */
function multiple(rounds: BenchRound<GeneratorAndFloor>[], variant: string, of: Figure, floorLabel: string): string {
  const spreads = (name: string) =>
    spreadOf(
      variantValues(rounds, name, ({ own, floor }) => (floor ? of(own) / of(floor) : Number.NaN)).filter(
        Number.isFinite,
      ),
    );
  const own = spreads(variant);
  if (!own) return '–';
  const value = decimalsText(own.mean, 2);
  const others = [...new Set(rounds.flatMap((round) => Object.keys(round)))].filter((name) => name !== floorLabel);
  const noise = pooledNoise(others.flatMap((name) => spreads(name) ?? []));
  if (variant === floorLabel || !noise) return value;
  const deviation = Math.max(noise.share * own.mean, own.deviation ?? 0);
  const estimate = { value: own.mean, error: deviation / Math.sqrt(own.runs), degrees: noise.degrees };
  const { low, high } = confidenceInterval(estimate, 0.95);
  return `${value} (${decimalsText(low, 2)}–${decimalsText(high, 2)})`;
}
