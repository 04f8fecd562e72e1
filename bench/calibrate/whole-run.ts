/** `artillery run` with the engine and the plugin, against a known server: the result document, figure by figure. */
import type { Result } from '../../protocol/result/result.ts';
import { artilleryRun } from './artillery-run.ts';
import { type Bound, type Comparison, exactly, known, near, type Section } from './comparison.ts';
import { distributed, p99OfCopies } from './distribution.ts';
import type { KnownServerTruth } from './known-server.ts';

interface WholeRunSize {
  /** In four equal ramps. */
  connections: number;
  broadcasts: number;
  memoryBound: Bound;
  latencyBound: Bound;
}

const BROADCAST_SECONDS = 0.3;
const HOLD_SECONDS = 0.2;
const KEEP_BYTES = 16 * 1024;
const TWIN_BYTES = 1024;
const DELAY_MS = 50;
const DROP = 3;

export async function wholeRun(size: WholeRunSize): Promise<Section> {
  const runSize = { ...size, broadcastSeconds: BROADCAST_SECONDS, holdSeconds: HOLD_SECONDS };
  const twin = await artilleryRun(runSize, { keep: { kind: 'buffer', bytes: TWIN_BYTES } });
  const known = await artilleryRun(runSize, {
    keep: { kind: 'buffer', bytes: TWIN_BYTES + KEEP_BYTES },
    delaysMs: [[DELAY_MS, DELAY_MS]],
    drop: DROP,
  });
  return {
    title: 'A whole run',
    text:
      `\`artillery run\` with ${size.connections} connections, against a server that keeps ${KEEP_BYTES / 1024} KB more per ` +
      `connection than its twin, delays each copy by ${DELAY_MS} ms and leaves out ${DROP} members. No process has its ` +
      'own core, so times may be off by one time slice of the kernel more.',
    rows: compare(size, twin.result, known.result, known.truth),
  };
}

function compare(size: WholeRunSize, twin: Result, result: Result, truth: KnownServerTruth): Comparison[] {
  const { connections, delivery, latency, memory } = result;
  // The single round trips come first; their only receiver is the probe.
  const copiesUs = truth.copies.map(({ afterUs }) => afterUs);
  const oneWay = latency.oneWayMs && { ...latency.oneWayMs, p99: p99OfCopies(latency) };
  const more = (layer: string) =>
    known(memory.perConnectionBytes[layer]?.slope) - known(twin.memory.perConnectionBytes[layer]?.slope);
  return [
    exactly('connections', size.connections, connections.peak),
    exactly('expected', size.connections * size.broadcasts, known(delivery?.expected)),
    // The sentinel also receives a copy of each, and keeps no ledger.
    exactly('received', copiesUs.length - size.broadcasts, known(delivery?.received)),
    exactly('lost while connected', truth.dropped, known(delivery?.lostConnected)),
    ...distributed('latency', copiesUs, oneWay, size.latencyBound),
    near('memory: workerExternal', 'bytes', KEEP_BYTES, more('workerExternal'), size.memoryBound),
  ];
}
