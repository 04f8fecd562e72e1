/** Converts profiles to rows with the value of each package and each function, per connection or copy. */
import { fileURLToPath } from 'node:url';
import { printableLine } from '../../../protocol/base/printable.ts';
import { tryOrUndefined } from '../../../protocol/base/try-or-undefined.ts';
import { PROFILE_LIMITS, type V8Profile } from '../../../protocol/profiles/profile-schema.ts';
import { MAX_LISTED_FUNCTIONS } from '../../../protocol/result/places-schema.ts';

type Node = V8Profile['nodes'][number];
/** Bytes or microseconds of a package or function, per connection or copy. */
type PlaceRow = { value: number; halfWidth95: number };

const MAX_NAME_LENGTH = 120;
const NATIVE = 'native';
/** Name of the node that stands for idle time in V8's profiles. */
const IDLE = '(idle)';
const COLLECTING = '(garbage collector)';
/** URL of the functions that belong to the profiler itself. */
const OWN_URL = 'node:inspector';
/** Half-width of a 95 % interval in standard deviations. */
const Z95 = 1.96;

/** @param units number of connections or copies by which the values are divided */
export function codePlaceRows(profiles: V8Profile[], units: number) {
  const functions = new Map<string, ReturnType<typeof describe> & PlaceRow>();
  const perUnit = (sampled: number, quantum: number): PlaceRow => ({
    value: sampled / units,
    // The number of samples in a function has a Poisson distribution. The variances of several profiles are added up.
    halfWidth95: (sampled * quantum) / units ** 2,
  });
  for (const profile of profiles) {
    const { nodes, folder, kind } = profile;
    for (const [index, { self, name }] of nodes.entries()) {
      const caller = callerOf(nodes, index);
      if (self === 0 || name === IDLE || caller?.url === OWN_URL) continue;
      const found = name === COLLECTING ? { name, place: '', package: 'garbage collection' } : describe(caller, folder);
      const key = JSON.stringify(found);
      functions.set(key, { ...found, ...plus(perUnit(self, PROFILE_LIMITS.interval[kind]), functions.get(key)) });
    }
  }
  const halfWidth = <T extends PlaceRow>(row: T) => ({ ...row, halfWidth95: Z95 * Math.sqrt(row.halfWidth95) });
  const byPackage = Map.groupBy(functions.values(), (one) => one.package);
  const packages = [...byPackage].map(([name, all]) => {
    const together = all.reduce<PlaceRow>((sum, one) => plus(one, sum), { value: 0, halfWidth95: 0 });
    return halfWidth({ name, ...together });
  });
  const rows = [...functions.values()].filter(({ place }) => place !== '').map(halfWidth);
  return {
    packages: packages.toSorted(compareLargestFirst),
    functions: rows.toSorted(compareLargestFirst).slice(0, MAX_LISTED_FUNCTIONS),
  };
}

function plus(a: PlaceRow, b: PlaceRow = { value: 0, halfWidth95: 0 }): PlaceRow {
  return { value: a.value + b.value, halfWidth95: a.halfWidth95 + b.halfWidth95 };
}

export function compareLargestFirst(a: PlaceRow, b: PlaceRow): number {
  return b.value - a.value;
}

/**
 * Returns the index of a node. For native code such as `Array.from`, returns its nearest caller in JavaScript;
 * undefined if there is none.
 */
function callerOf(nodes: Node[], index: number): Node | undefined {
  let node = nodes[index];
  while (node && node.url === '') node = nodes[node.parent];
  return node;
}

function describe(caller: Node | undefined, folder: string) {
  if (!caller) return { name: NATIVE, place: '', package: NATIVE };
  const { name, url, line } = caller;
  const path = pathOf(url);
  const place = path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : path;
  return {
    name: printableLine(name || '(anonymous)', MAX_NAME_LENGTH),
    place: shortPlace(`${place}:${line}`),
    package: printableLine(packageOfUrl(url), MAX_NAME_LENGTH),
  };
}

/** Shortens a path to its end, because the end tells more than the beginning. */
function shortPlace(place: string): string {
  const cut = place.length > MAX_NAME_LENGTH ? `…${place.slice(1 - MAX_NAME_LENGTH)}` : place;
  return printableLine(cut, MAX_NAME_LENGTH);
}

function pathOf(url: string): string {
  return tryOrUndefined(() => fileURLToPath(url)) ?? url;
}

/** Returns `application`, `Node`, or the name of a package in node_modules. */
export function packageOfUrl(url: string): string {
  const path = pathOf(url);
  if (path.startsWith('node:')) return 'Node';
  const inside = path.split('/node_modules/').at(-1) ?? '';
  if (inside === path) return 'application';
  const [scope = '', name = ''] = inside.split('/');
  return scope.startsWith('@') ? `${scope}/${name}` : scope;
}
