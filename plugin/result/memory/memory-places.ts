/** What a connection keeps in the workers, by the package and the function that allocated it. */
import { fileURLToPath } from 'node:url';
import { attempt } from '../../../protocol/base/attempt.ts';
import { printable } from '../../../protocol/base/printable.ts';
import type { Places } from '../../../protocol/result/memory-schema.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';
import { type HeapProfile, SAMPLING_INTERVAL_BYTES } from '../../samplers/index.ts';

type Node = HeapProfile['nodes'][number];
type Row = { bytes: number; halfWidth95: number };

const MAX_FUNCTIONS = 20;
const MAX_NAME_LENGTH = 120;
const NATIVE = 'native';
/** Of the profiler itself. */
const OWN_URL = 'node:inspector';
/** Standard deviations of a 95 % interval. */
const Z95 = 1.96;

type Measured = Pick<Measurements, 'heapProfiles' | 'plateaus'>;

/** @returns undefined without profiles, connections, or what V8 counted at the baseline and at the last plateau */
export function placesOf({ heapProfiles, plateaus }: Measured): Places | undefined {
  const [first, last] = [plateaus[0], plateaus.at(-1)];
  if (!heapProfiles || heapProfiles instanceof Error || heapProfiles.length === 0 || !first || !last) return undefined;
  const { connections } = last;
  const growth = (figure: string) =>
    ((last.layers[figure] ?? Number.NaN) - (first.layers[figure] ?? Number.NaN)) / connections;
  const [growthBytes, externalBytes] = [growth('workerKept'), growth('workerExternal')];
  if (!Number.isFinite(growthBytes) || !Number.isFinite(externalBytes)) return undefined;
  const functions = new Map<string, ReturnType<typeof describe> & { bytes: number }>();
  for (const { folder, nodes } of heapProfiles) {
    for (const [index, { bytes }] of nodes.entries()) {
      const caller = callerOf(nodes, index);
      if (bytes === 0 || caller?.url === OWN_URL) continue;
      const found = describe(caller, folder);
      const key = JSON.stringify(found);
      functions.set(key, { ...found, bytes: bytes + (functions.get(key)?.bytes ?? 0) });
    }
  }
  const each = (bytes: number): Row => ({
    bytes: bytes / connections,
    // The number of samples of a place has the variance of a Poisson distribution.
    halfWidth95: (Z95 * Math.sqrt(bytes * SAMPLING_INTERVAL_BYTES)) / connections,
  });
  const byPackage = Map.groupBy(functions.values(), (one) => one.package);
  const packages = [...byPackage].map(([name, all]) => ({ name, ...each(sum(all)) }));
  packages.push({ name: 'external', bytes: externalBytes, halfWidth95: 0 });
  const rows = [...functions.values()].map(({ bytes, ...one }) => ({ ...one, ...each(bytes) }));
  return {
    connections,
    growthBytes,
    packages: packages.toSorted(largest),
    functions: rows.toSorted(largest).slice(0, MAX_FUNCTIONS),
    unattributedBytes: growthBytes - sum(packages),
  };
}

function sum(rows: { bytes: number }[]): number {
  return rows.reduce((total, { bytes }) => total + bytes, 0);
}

function largest(a: Row, b: Row): number {
  return b.bytes - a.bytes;
}

/** @returns the node, or the next caller in JavaScript of native code such as `Array.from`; undefined if there is none */
function callerOf(nodes: Node[], index: number): Node | undefined {
  let node = nodes[index];
  while (node && node.url === '') node = nodes[node.parent];
  return node;
}

function describe(caller: Node | undefined, folder: string) {
  if (!caller) return { name: NATIVE, place: '', package: NATIVE };
  const { name, url, line } = caller;
  const path = attempt(() => fileURLToPath(url)) ?? url;
  const place = path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : path;
  return {
    name: printable(name || '(anonymous)', MAX_NAME_LENGTH),
    place: printable(`${place}:${line}`, MAX_NAME_LENGTH),
    package: printable(packageOf(path), MAX_NAME_LENGTH),
  };
}

function packageOf(path: string): string {
  if (path.startsWith('node:')) return 'Node';
  const inside = path.split('/node_modules/').at(-1) ?? '';
  if (inside === path) return 'application';
  const [scope = '', name = ''] = inside.split('/');
  return scope.startsWith('@') ? `${scope}/${name}` : scope;
}
