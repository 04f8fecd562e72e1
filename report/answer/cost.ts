/**
 * The headline of a run: what a connection costs this deployment in memory, split into its workers, its proxy, and the kernel's
 * part of their sockets. It is what a connection keeps, with a garbage collection before each reading.
 */

import type { Slope } from '../../protocol/result/memory.ts';
import type { Interval } from '../../protocol/result/parts.ts';
import type { Result } from '../../protocol/result/result.ts';
import { mainWorkerLayer } from '../figures/layers.ts';
import { type Amount, amount, amountText, numberText, unknown } from '../model/amount.ts';
import { DOUBT_TEXTS, type Doubt, MAX_HALF_WIDTH_SHARE } from '../statistics/straightness.ts';
import { integer } from '../text/format.ts';

/** Bytes per connection. */
interface CostPart {
  title: 'workers' | 'proxy' | 'kernel';
  /** Layer of the result. */
  layer: string;
  bytes: number;
  /** What is needed at the peak of the run, garbage and buffers included; null where that has no line to be quoted. */
  inService: number | null;
}

export interface ConnectionCost {
  /** Of all parts; at least that of the known ones. */
  total: Amount;
  /** Those that are known. */
  parts: CostPart[];
  /** Why others are not known. */
  without: string[];
  /** Null where one of them is not known. */
  inService: number | null;
}

/** Sockets of a connection on a machine that has both ends, and how many of them are the deployment's. */
const SOCKETS = { full: { all: 4, ofDeployment: 3 }, embedded: { all: 2, ofDeployment: 1 } };

/** Noise makes the interval wide, and the interval says so; of other doubts, it knows nothing. */
const BY_NOISE: (Doubt | undefined)[] = [undefined, 'wide', 'noRise'];

/** @returns null where the workers' memory was not read at several numbers of connections */
export function connectionCost(result: Result): ConnectionCost | null {
  const { perConnectionBytes, inService } = result.memory;
  const read = layersOfCost(result).flatMap(({ title, layer, share }) => {
    const [slope, needed] = [perConnectionBytes[layer], inService?.perConnectionBytes[layer]];
    return slope ? [{ title, layer, share, slope, needed }] : [];
  });
  if (read[0]?.title !== 'workers') return null;
  const known = read.filter(({ slope }) => BY_NOISE.includes(slope.doubt) && slope.high95 !== null);
  const parts = known.map(({ title, layer, share, slope, needed }) => ({
    ...{ title, layer, bytes: share * slope.slope },
    inService: needed && needed.doubt === undefined ? share * needed.slope : null,
  }));
  const bytes = sum(parts.map((part) => part.bytes));
  // The errors of the parts are independent of each other.
  const halfWidth = Math.hypot(...known.map(({ share, slope }) => share * halfWidthOf(slope)));
  const isWhole = known.length === read.length;
  const needed = isWhole && parts.every((part) => part.inService !== null);
  return {
    total: isWhole
      ? totalOf(bytes, halfWidth, result.connections.peak)
      : boundOf(bytes, halfWidth, read[0].slope.doubt ?? 'fewPlateaus'),
    parts,
    without: read
      .filter((one) => !known.includes(one))
      .map(({ title, slope }) => `${title} not known: ${DOUBT_TEXTS[slope.doubt ?? 'fewPlateaus']}`),
    inService: needed ? sum(parts.map((part) => part.inService ?? 0)) : null,
  };
}

/** @returns `workers 8.5, proxy 13.7, kernel 10.9`; empty where nothing is split */
export function splitText({ parts, without }: ConnectionCost): string {
  if (parts.length === 0 || parts.length + without.length < 2) return '';
  return [...parts.map(({ title, bytes }) => `${title} ${numberText('kilobytes', bytes)}`), ...without].join(', ');
}

/** @returns `memory per connection: 33.2 KB ± 2 % (workers 8.5, proxy 13.7, kernel 10.9)` */
export function costText(cost: ConnectionCost, collected: boolean): string {
  const split = [splitText(cost), ...(collected ? [] : ['garbage included'])].filter(Boolean).join('; ');
  return `memory per connection: ${amountText(cost.total)}${split === '' ? '' : ` (${split})`}`;
}

interface CostLayer {
  title: CostPart['title'];
  layer: string;
  /** Of its bytes that are the deployment's. */
  share: number;
}

/** The kernel has no part where nobody knows which sockets are the deployment's. */
function layersOfCost({ memory: { perConnectionBytes }, run: { profile } }: Result): CostLayer[] {
  const proxy = Object.keys(perConnectionBytes).find((id) => /^(nginx|haproxy)(Pss|Rss|Pools)$/.test(id));
  const sockets = profile === 'remote' ? null : SOCKETS[profile];
  return [
    { title: 'workers', layer: mainWorkerLayer(perConnectionBytes), share: 1 },
    ...(proxy === undefined ? [] : [{ title: 'proxy' as const, layer: proxy, share: 1 }]),
    ...(sockets ? [{ title: 'kernel' as const, layer: 'kernelSlab', share: sockets.ofDeployment / sockets.all }] : []),
  ];
}

function totalOf(bytes: number, halfWidth: number, connections: number): Amount {
  const interval: Interval = { low95: Math.max(0, bytes - halfWidth), high95: bytes + halfWidth };
  if (halfWidth <= MAX_HALF_WIDTH_SHARE * bytes) return amount('kilobytes', bytes, interval);
  // With the same noise, an interval shrinks as the number of connections grows.
  const enough = (connections * halfWidth) / (MAX_HALF_WIDTH_SHARE * Math.max(bytes, interval.high95 / 2));
  return { ...amount('kilobytes', null, interval), next: `${roundUp(enough)} connections would tell` };
}

/** To one digit, since it is an estimate. */
function roundUp(connections: number): string {
  const digit = 10 ** Math.floor(Math.log10(connections));
  return integer(Math.ceil(connections / digit) * digit);
}

/** @param doubt about the workers */
function boundOf(bytes: number, halfWidth: number, doubt: Doubt): Amount {
  if (bytes > 0 && halfWidth <= MAX_HALF_WIDTH_SHARE * bytes) {
    const interval = { low95: bytes - halfWidth, high95: bytes + halfWidth };
    return { ...amount('kilobytes', bytes, interval), isAtLeast: true };
  }
  if (bytes <= 0 && doubt !== 'fewPlateaus') return unknown('kilobytes', `not known: ${DOUBT_TEXTS[doubt]}`);
  return unknown('kilobytes', 'too few connections to tell', 'try scenarios/5k.yml');
}

function halfWidthOf({ slope, high95 }: Slope): number {
  return (high95 ?? slope) - slope;
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
