/** What the adapter's Redis did for the broadcasts. */
import type { Result } from '../protocol/result/result.ts';
import { decimals, integer } from './format.ts';

/** @returns rows of title, figure and note; none without Redis */
export function redisRows({ redis }: Pick<Result, 'redis'>): [string, string, string][] {
  if (!redis) return [];
  const rows: [string, string, string][] = [];
  const { inBytesPerCopy, outBytesPerCopy, shardChannels, channels, patterns, forNobody } = redis;
  if (inBytesPerCopy !== null) rows.push(['Redis, received', decimals(inBytesPerCopy, 1), 'bytes per receipt']);
  if (outBytesPerCopy !== null) rows.push(['Redis, sent', decimals(outBytesPerCopy, 1), 'bytes per receipt']);
  rows.push(['Redis, channels', integer(channels + patterns + (shardChannels ?? 0)), 'that workers subscribe to']);
  if (forNobody !== null && forNobody > 0) {
    rows.push(['Redis, for nobody', integer(forNobody), 'broadcasts without members on other workers']);
  }
  return rows;
}
