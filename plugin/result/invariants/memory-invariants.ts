/**
 * Checks whether memory figures are physically possible. Each function returns the figures that are not, with their
 * values.
 */
import { findingValues } from '../../../protocol/result/findings.ts';
import { integerText, megabytesText } from '../../../report/text/format.ts';
import type { LayerBytes } from '../../run/measurements/memory-measured.ts';
import type { Violation } from './violation.ts';

export interface MemoryRun {
  /**
   * Plateaus with their mean memory after garbage collections and all single readings, including readings before a
   * garbage collection. In runs with waves or churn, the readings have no means.
   */
  rows: { connections: number; atRest: LayerBytes; all: LayerBytes[] }[];
  /** Whether the workers use V8. Other runtimes keep pages of their heaps, and report memory that has no pages. */
  isV8: boolean;
  /** Minimum number of processes in which the workers run. */
  processes: number;
  /** Ids of figures that the kernel reports directly at each reading. These figures may stay the same. */
  live: Set<string>;
}

type Found = Violation[];

const MB = 1024 ** 2;
/** Minimum memory of a process in bytes. A process that only maps the C library has more. */
const LEAST_BYTES = MB / 2;
/** Minimum memory of a process with V8. Idle processes of Node 18 to 26, Deno and Bun have 30 MB and more. */
const LEAST_V8_BYTES = 20 * MB;
/** Minimum memory of a connection in bytes. A Socket.IO connection takes kilobytes, a TCP socket some hundred bytes. */
const LEAST_PER_CONNECTION = 64;
/**
 * Allowed difference between PSS and RSS, because they are read one after the other, and the kernel updates RSS in
 * batches.
 */
const PSS_MARGIN = { share: 0.05, bytes: 2 * MB };

const HEAP = 'workerHeapUsed';
const RSS = 'workerRss';
/** Ids of figures that include V8's heap. */
const WITH_HEAP = [HEAP, 'workerKept'];
/** Ids of figures that must change when connections open. External memory may stay the same. */
const MOVING = [RSS, 'workerPss', 'workerWorkingSet', HEAP];

export function findNegativeMemory({ rows }: MemoryRun): Found {
  return figuresOf(rows).flatMap((figure) => {
    const least = Math.min(...readingsOf(rows, figure));
    const message = `${figure} was ${integerText(least)} bytes`;
    return least >= 0
      ? []
      : [{ figures: [figure], message, values: findingValues({ [figure]: least }, 'bytes'), fix: SEE_SOURCE }];
  });
}

/** Finds memory figures that are too small: their unit is wrong, or the metrics page does not describe the process. */
export function findTooSmallMemory({ rows, processes, ...run }: MemoryRun): Found {
  const isV8 = run.isV8 && rows.some(({ atRest }) => HEAP in atRest);
  return figuresOf(rows).flatMap((figure) => {
    if (!/(Rss|WorkingSet)$/.test(figure)) return [];
    const isWorker = figure.startsWith('worker');
    const needed = isWorker ? processes * (isV8 ? LEAST_V8_BYTES : LEAST_BYTES) : LEAST_BYTES;
    const least = Math.min(...readingsOf(rows, figure));
    if (least >= needed) return [];
    const what = isWorker && isV8 ? `${processes} Node processes have` : 'a process has';
    const message = `${figure} was ${integerText(least)} bytes, and ${what} at least ${megabytesText(needed)} MB`;
    const values = [
      ...findingValues({ [figure]: least, 'least possible': needed }, 'bytes'),
      ...findingValues({ processes }),
    ];
    return [{ figures: [figure], message, values, fix: 'let the source report all memory of the process, in bytes' }];
  });
}

/** Finds figures that a source repeats unchanged while connections open. */
export function findFrozenMemory({ rows, live }: MemoryRun): Found {
  return unmoved(rows).filter(({ figures }) => !figures.some((figure) => live.has(figure)));
}

/**
 * Returns figures that were read directly and did not rise. A few connections fit into memory pages that a process
 * already has.
 */
export function reusedPages({ rows, live }: MemoryRun): string[] {
  return unmoved(rows).flatMap(({ figures }) => figures.filter((figure) => live.has(figure)));
}

function unmoved(rows: MemoryRun['rows']): Found {
  const numbers = rows.map(({ connections }) => connections);
  const [fewest, most] = [Math.min(...numbers), Math.max(...numbers)];
  if (rows.length < 2 || most <= fewest) return [];
  return MOVING.flatMap((figure) => {
    const values = readingsOf(rows, figure);
    if (values.length < rows.length) return [];
    const [low, high] = [Math.min(...values), Math.max(...values)];
    if (high - low >= LEAST_PER_CONNECTION * (most - fewest)) return [];
    const range = high === low ? `was ${integerText(low)} bytes` : `moved by ${integerText(high - low)} bytes only`;
    const message = `${figure} ${range} in all ${values.length} readings, from ${integerText(fewest)} to ${integerText(most)} connections`;
    return [
      {
        figures: figure === HEAP ? WITH_HEAP.filter((id) => figuresOf(rows).includes(id)) : [figure],
        message,
        values: [
          ...findingValues({ [`lowest ${figure}`]: low, [`${figure} moved by`]: high - low }, 'bytes'),
          ...findingValues({ readings: values.length, 'fewest connections': fewest, 'most connections': most }),
        ],
        fix: 'let the source report the process that holds the connections, now and without a cache; or use more connections',
      },
    ];
  });
}

/** Finds figures of parts of a process that are larger than the figure of the whole process. */
export function findPartsAboveRss({ rows, isV8 }: MemoryRun): Found {
  const all = rows.flatMap((row) => row.all);
  const ids = figuresOf(rows).filter((id) => id.endsWith('Rss'));
  return ids.flatMap((rss) => {
    const pss = rss.replace(/Rss$/, 'Pss');
    const larger = all.find(
      ({ [pss]: part = 0, [rss]: whole = Infinity }) => part > whole * (1 + PSS_MARGIN.share) + PSS_MARGIN.bytes,
    );
    if (larger) return [partExceeds(pss, larger[pss], rss, larger[rss], [pss, rss])];
    const withHeap =
      isV8 && rss === RSS ? all.find(({ [HEAP]: heap = 0, [RSS]: whole = Infinity }) => heap > whole) : undefined;
    return withHeap ? [partExceeds(HEAP, withHeap[HEAP], RSS, withHeap[RSS], [...WITH_HEAP, RSS, pss])] : [];
  });
}

const SEE_SOURCE = 'let all figures be of the same process, live and in bytes; see `memory.sources` in result.json';

function partExceeds(part: string, bytes = 0, whole: string, all = 0, figures: string[]): Found[number] {
  const message = `${part} was ${megabytesText(bytes)} MB, and ${whole}, which contains it, ${megabytesText(all)} MB`;
  return { figures, message, values: findingValues({ [part]: bytes, [whole]: all }, 'bytes'), fix: SEE_SOURCE };
}

function figuresOf(rows: MemoryRun['rows']): string[] {
  return [...new Set(rows.flatMap(({ all }) => all.flatMap(Object.keys)))];
}

function readingsOf(rows: MemoryRun['rows'], figure: string): number[] {
  return rows.flatMap(({ all }) => all.flatMap(({ [figure]: bytes }) => bytes ?? []));
}
