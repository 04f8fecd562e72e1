/** What the adapter's Redis did for the broadcasts. */
import type { Result } from '../../protocol/result/result.ts';
import { amount, type QuantityName, withUnit } from '../model/amount.ts';
import { type Block, type Fact, facts } from '../model/document.ts';

/** Empty without Redis. */
export function redis({ redis: found }: Pick<Result, 'redis'>): Block[] {
  if (!found) return [];
  const { nodes, usedMemoryBeforeBytes: before } = found;
  const row = (name: string, quantity: QuantityName, value: number | null, note: string): Fact | false =>
    value !== null && [name, amount(quantity, value), note];
  return [
    facts(
      'Redis',
      [
        row('Sent', 'bytes', found.outBytesPerCopy, 'per copy'),
        row('CPU', 'microseconds', found.cpuMicrosecondsPerCopy, 'per copy'),
        row('Memory', 'size', found.usedMemoryBytes, before === null ? '' : `before: ${withUnit('size', before)}`),
        row('Output waiting', 'size', found.outputBufferPeakBytes, 'at most, read once a second'),
        // Sharded channels each have one node, so a single room loads only that one.
        row('Busiest node', 'share', found.busiestNodeShare, `of what ${nodes?.length ?? 1} nodes sent`),
        row('For nobody', 'count', found.forNobody || null, 'broadcasts without members on other workers'),
      ],
      true,
    ),
  ];
}
