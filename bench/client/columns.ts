/**
 * Columns of the client bench. A figure is also shown as a multiple of the floor: a minimal client in C, measured
 * directly before or after.
 */
import { intervalOf, pooledNoise, spreadOf } from '../../report/statistics/spread.ts';
import { decimals, integer, kilobytes } from '../../report/text/format.ts';
import { type Column, type Round, valuesOf, withSpread } from '../rounds.ts';
import type { Measured } from './measure-clients.ts';

export const FLOOR = 'bare epoll client in C';

/**
 * Measurements of a generator, and of the floor (a minimal client in C) directly before or after. Undefined if the
 * floor failed.
 */
export interface GeneratorAndFloor {
  own: Measured;
  floor: Measured | undefined;
}

type Figure = (measured: Measured) => number;

/**
 * Returns the columns. Without TLS, the multiple of memory is omitted, because the floor's 24 bytes per connection are
 * within the rounding of memory readings.
 */
export function columns(tls: boolean): Column<GeneratorAndFloor>[] {
  const memory: Figure = ({ memoryPerConnectionBytes }) => memoryPerConnectionBytes;
  return [
    ...withMultiple('CPU per connection (µs)', ({ cpuPerConnectionUs }) => cpuPerConnectionUs, integer),
    ...withMultiple(
      'CPU per message (µs)',
      ({ cpuPerMessageUs }) => cpuPerMessageUs,
      (us) => decimals(us, 2),
    ),
    ...withMultiple('its memory per connection (KB)', memory, kilobytes).slice(0, tls ? 2 : 1),
    figure(
      'CPU while idle (% of a core)',
      ({ idlePercent }) => idlePercent,
      (percent) => decimals(percent, 1),
    ),
  ];
}

function withMultiple(title: string, of: Figure, text: (value: number) => string): Column<GeneratorAndFloor>[] {
  return [figure(title, of, text), { title: '× floor', cell: (rounds, variant) => multiple(rounds, variant, of) }];
}

/**
 * Returns the column of a figure. The floor's cell contains all of its measurements, including measurements for other
 * generators.
 */
function figure(title: string, of: Figure, text: (value: number) => string): Column<GeneratorAndFloor> {
  const floors = (rounds: Round<GeneratorAndFloor>[]) =>
    new Set(rounds.flatMap((round) => Object.values(round)).flatMap(({ floor }) => floor ?? []));
  const values = (rounds: Round<GeneratorAndFloor>[], variant: string) =>
    variant === FLOOR ? [...floors(rounds)].map(of) : valuesOf(rounds, variant, ({ own }) => of(own));
  return { title, cell: (rounds, variant) => withSpread(values(rounds, variant), text) };
}

/**
 * Returns the mean multiple with a 95 % interval. The interval uses the pooled spread of all generators between rounds,
 * or the generator's own spread if that is larger.
 */
function multiple(rounds: Round<GeneratorAndFloor>[], variant: string, of: Figure): string {
  const spreads = (name: string) =>
    spreadOf(
      valuesOf(rounds, name, ({ own, floor }) => (floor ? of(own) / of(floor) : Number.NaN)).filter(Number.isFinite),
    );
  const own = spreads(variant);
  if (!own) return '–';
  const value = decimals(own.mean, 2);
  const others = [...new Set(rounds.flatMap((round) => Object.keys(round)))].filter((name) => name !== FLOOR);
  const noise = pooledNoise(others.flatMap((name) => spreads(name) ?? []));
  if (variant === FLOOR || !noise) return value;
  const deviation = Math.max(noise.share * own.mean, own.deviation ?? 0);
  const estimate = { value: own.mean, error: deviation / Math.sqrt(own.runs), degrees: noise.degrees };
  const { low, high } = intervalOf(estimate, 0.95);
  return `${value} (${decimals(low, 2)}–${decimals(high, 2)})`;
}
