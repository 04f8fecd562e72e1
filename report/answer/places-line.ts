/** Where a connection's memory is allocated, on one line. */
import type { Places } from '../../protocol/result/memory-schema.ts';
import { numberText, withUnit } from '../model/amount.ts';
import type { Line } from './line.ts';

/** Packages that are shown by name. */
const MAX_PACKAGES = 5;

/** @returns `of the 18.9 KB that V8 counts per connection: application 6.9 (server.mjs:11 5.8), Node 4.0, engine.io 3.1, others 3.2` */
export function placesLine(places: Places | undefined): Line[] {
  if (!places) return [];
  const { growthBytes, packages, functions } = places;
  const shown = packages.slice(0, MAX_PACKAGES).filter(({ bytes }) => bytes > 0);
  const others = growthBytes - shown.reduce((sum, { bytes }) => sum + bytes, 0);
  const texts = shown.map(({ name, bytes }) => {
    const first = name === 'application' ? functions.find((one) => one.package === name) : undefined;
    const where = first ? ` (${first.place} ${kilobytes(first.bytes)})` : '';
    return `${name} ${kilobytes(bytes)}${where}`;
  });
  return [
    {
      text: `of the ${withUnit('kilobytes', growthBytes)} that V8 counts per connection: ${texts.join(', ')}, others ${kilobytes(others)}`,
    },
  ];
}

function kilobytes(bytes: number): string {
  return numberText('kilobytes', bytes);
}
