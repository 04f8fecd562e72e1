/** The table of the client bench: each figure also as a multiple of the floor's, which was measured just before or after. */
import { intervalOf, pooledNoise, spreadOf } from '../../report/statistics/spread.ts';
import { decimals, integer, kilobytes } from '../../report/text/format.ts';
import { type Column, type Round, valuesOf, withSpread } from '../rounds.ts';
import type { Measured } from './measure-clients.ts';

export const FLOOR = 'bare epoll client in C';

/** A generator, and the floor next to it in time, if that could be measured. */
export interface Pair {
  own: Measured;
  floor: Measured | undefined;
}

type Of = (measured: Measured) => number;

/** Without TLS, the floor has 24 bytes per connection, less than the kernel rounds: a multiple would be meaningless. */
export function columns(tls: boolean): Column<Pair>[] {
  const memory: Of = ({ memoryPerConnectionBytes }) => memoryPerConnectionBytes;
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

function withMultiple(title: string, of: Of, text: (value: number) => string): Column<Pair>[] {
  return [figure(title, of, text), { title: '× floor', cell: (rounds, variant) => multiple(rounds, variant, of) }];
}

/** The floor has all its measurements. */
function figure(title: string, of: Of, text: (value: number) => string): Column<Pair> {
  const floors = (rounds: Round<Pair>[]) =>
    new Set(rounds.flatMap((round) => Object.values(round)).flatMap(({ floor }) => floor ?? []));
  const values = (rounds: Round<Pair>[], variant: string) =>
    variant === FLOOR ? [...floors(rounds)].map(of) : valuesOf(rounds, variant, ({ own }) => of(own));
  return { title, cell: (rounds, variant) => withSpread(values(rounds, variant), text) };
}

/**
 * The mean of all pairs, with a 95 % interval from how much the pairs of every generator differ between rounds, or its own
 * if they differ more.
 */
function multiple(rounds: Round<Pair>[], variant: string, of: Of): string {
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
