/** The headline of a run in words: what a connection keeps of this deployment's memory. */
import type { PerConnection } from '../../protocol/result/memory.ts';
import { type Amount, amount, amountText, numberText, unknown, withUnit } from '../model/amount.ts';
import { DOUBT_TEXTS, isNarrow } from '../statistics/straightness.ts';
import { integer } from '../text/format.ts';

/** @returns the figure; its interval where that is wide, with what would narrow it */
export function costAmount({ bytes, low95, high95, isAtLeast, without, wouldTell }: PerConnection): Amount {
  if (bytes === null) return unknown('kilobytes', `not known: ${DOUBT_TEXTS[without[0]?.doubt ?? 'miscounted']}`);
  const bound = isAtLeast ? { isAtLeast: true as const } : {};
  if (low95 === null || high95 === null) return { ...amount('kilobytes', bytes), ...bound };
  const interval = { low95, high95 };
  if (isNarrow(bytes, high95 - low95)) return { ...amount('kilobytes', bytes, interval), ...bound };
  const next =
    wouldTell &&
    `${integer(wouldTell.connections)} connections would tell it to about ± ${withUnit('kilobytes', wouldTell.halfWidthBytes)}`;
  return { ...amount('kilobytes', null, interval), ...bound, ...(next && { next }) };
}

/** @returns `workers 8.5, proxy 13.7, kernel 10.9`; empty where nothing is split */
export function splitText({ parts, without }: PerConnection): string {
  if (parts.length === 0 || parts.length + without.length < 2) return '';
  return [
    ...parts.map(({ title, bytes }) => `${title} ${numberText('kilobytes', bytes)}`),
    ...without.map(({ title, doubt }) => `${title} not known: ${DOUBT_TEXTS[doubt]}`),
  ].join(', ');
}

/** @returns `memory per connection: 33.2 KB ± 2 % (workers 8.5, proxy 13.7, kernel 10.9)` */
export function costText(cost: PerConnection, collected: boolean): string {
  const split = [splitText(cost), ...(collected ? [] : ['garbage included'])].filter(Boolean).join('; ');
  return `memory per connection: ${amountText(costAmount(cost))}${split === '' ? '' : ` (${split})`}`;
}
