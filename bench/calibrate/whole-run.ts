/** Calibrates the figures of a result document, from `artillery run` with engine and plugin against a known server. */
import type { Result } from '../../protocol/result/result.ts';
import { artilleryRun } from './artillery-run.ts';
import { type Comparison, exactly, known, near, type Section } from './comparison.ts';
import { distributed, p99OfCopies } from './distribution.ts';
import type { KnownServerTruth } from './known-server.ts';

const SIZE = { connections: 1000, broadcasts: 10, broadcastSeconds: 0.3, holdSeconds: 0.2 };
const MEMORY_BOUND = { share: 0.02 };
/** Slightly more than a time slice of the kernel's scheduler. */
const LATENCY_BOUND = { absolute: 5, share: 0.01 };
const KEEP_BYTES = 16 * 1024;
const TWIN_BYTES = 1024;
const DELAY_MS = 50;
const DROP = 3;

export async function wholeRun(): Promise<Section> {
  const twin = await artilleryRun(SIZE, { keep: { kind: 'buffer', bytes: TWIN_BYTES } });
  const known = await artilleryRun(SIZE, {
    keep: { kind: 'buffer', bytes: TWIN_BYTES + KEEP_BYTES },
    delaysMs: [[DELAY_MS, DELAY_MS]],
    drop: DROP,
  });
  return {
    title: 'A whole run',
    text:
      `\`artillery run\` with ${SIZE.connections} connections, against a server that keeps ${KEEP_BYTES / 1024} KB more per ` +
      `connection than its twin, delays each copy by ${DELAY_MS} ms and leaves out ${DROP} members. No process has its ` +
      'own core, so times may be off by one time slice of the kernel more.',
    rows: compare(twin.result, known.result, known.truth),
  };
}

function compare(twin: Result, result: Result, truth: KnownServerTruth): Comparison[] {
  const { connections, delivery, latency, memory } = result;
  // Without the copies of single round trips, whose only receiver is the probe.
  const copiesUs = truth.copies.map(({ afterUs }) => afterUs);
  const oneWay = latency.oneWayMs && { ...latency.oneWayMs, p99: p99OfCopies(latency) };
  const more = (layer: string) =>
    known(memory.perConnectionBytes[layer]?.slope) - known(twin.memory.perConnectionBytes[layer]?.slope);
  return [
    exactly('connections', SIZE.connections, connections.peak),
    exactly('expected', SIZE.connections * SIZE.broadcasts, known(delivery?.expected)),
    // The reference receiver also gets a copy of each broadcast, but keeps no ledger.
    exactly('received', copiesUs.length - SIZE.broadcasts, known(delivery?.received)),
    exactly('lost while connected', truth.dropped, known(delivery?.lostConnected)),
    ...distributed('latency', copiesUs, oneWay, LATENCY_BOUND),
    near('memory: workerExternal', 'bytes', KEEP_BYTES, more('workerExternal'), MEMORY_BOUND),
  ];
}
