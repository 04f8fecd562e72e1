/**
 * What a connection costs the deployment in memory: its workers, its proxy, and the kernel's part of their sockets. Memory
 * of one of them alone is not what a host needs.
 */
import type { Result } from '../../protocol/result/result.ts';
import { layerTitle, mainWorkerLayer } from '../figures/layers.ts';
import { kilobytes } from '../text/format.ts';

/** Bytes per connection. */
export interface CostPart {
  title: string;
  /** Null where nobody forced a collection. */
  atRest: number | null;
  /** Null where that has no line to be quoted. */
  inService: number | null;
}

export interface ConnectionCost extends Omit<CostPart, 'title'> {
  parts: CostPart[];
}

/** Sockets of a connection on a machine that has both ends, and how many of them are the deployment's. */
const SOCKETS = { full: { all: 4, ofDeployment: 3 }, embedded: { all: 2, ofDeployment: 1 } };

/** @returns null where the workers' memory has no line to be quoted, or one of the others has none that can be left out */
export function connectionCost(result: Result): ConnectionCost | null {
  const { perConnectionBytes } = result.memory;
  const workers = mainWorkerLayer(perConnectionBytes);
  const proxy = Object.keys(perConnectionBytes).find((id) => /^nginx(Pss|Rss)$/.test(id));
  const layers = [workers, ...(proxy === undefined ? [] : [proxy])];
  const parts = layers.map((id) => part(result, id, layerTitle(result, id).replace(/ (PSS|RSS)$/, '')));
  const kernel = kernelOf(result);
  if (kernel) parts.push(kernel);
  if (parts.some((one) => one === null)) return null;
  const known = parts as CostPart[];
  return {
    parts: known,
    atRest: sum(known.map(({ atRest }) => atRest)),
    inService: sum(known.map(({ inService }) => inService)),
  };
}

/** @returns `58.4 KB per connection in service (workers 33.8, nginx 13.7, kernel 10.9)`; null where that is not known */
export function costText(cost: ConnectionCost, key: 'atRest' | 'inService'): string | null {
  const bytes = cost[key];
  if (bytes === null) return null;
  const split = cost.parts.map(
    (part) => `${part.title.replace('Workers', 'workers')} ${kilobytes(part[key] as number)}`,
  );
  const when = key === 'atRest' ? 'at rest' : 'in service';
  return `${kilobytes(bytes)} KB per connection ${when} (${split.join(', ')})`;
}

function part({ memory }: Result, id: string, title: string): CostPart | null {
  const [atRest, inService] = [memory.perConnectionBytes[id], memory.inService?.perConnectionBytes[id]];
  if (!atRest || atRest.doubt !== undefined) return null;
  const needed = inService && inService.doubt === undefined ? inService.slope : null;
  return { title, atRest: memory.collected ? atRest.slope : null, inService: needed };
}

/** @returns undefined where the kernel's memory is not known, or nobody knows which sockets are the deployment's */
function kernelOf(result: Result): CostPart | null | undefined {
  const { profile } = result.run;
  if (profile === 'remote' || !('kernelSlab' in result.memory.perConnectionBytes)) return undefined;
  const whole = part(result, 'kernelSlab', 'kernel');
  const { all, ofDeployment } = SOCKETS[profile];
  const share = (bytes: number | null) => (bytes === null ? null : (bytes * ofDeployment) / all);
  return whole && { ...whole, atRest: share(whole.atRest), inService: share(whole.inService) };
}

function sum(bytes: (number | null)[]): number | null {
  return bytes.includes(null) ? null : (bytes as number[]).reduce((total, one) => total + one, 0);
}
