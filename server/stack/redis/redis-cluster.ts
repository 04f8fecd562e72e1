/** A Redis Cluster of our own: its nodes are all on 127.0.0.1, and have no replicas. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CapacityError } from '../../../protocol/errors.ts';
import { askRedis } from './redis.ts';

const SLOTS = 16_384;
/** Nodes need a second or two to meet, and take two more before they believe it. */
const READY_TIMEOUT_MS = 20_000;
const POLL_MS = 50;

export interface ClusterNode {
  /** With port and password. */
  url: string;
  busPort: number;
}

/**
 * Makes one cluster of nodes that are new, and waits until each of them says that it is.
 * @throws CapacityError `START_FAILED`
 */
export async function formCluster(nodes: ClusterNode[]): Promise<void> {
  const [first] = nodes;
  if (!first) return;
  await Promise.all(
    nodes.map(async ({ url }, index) => {
      const [from, to] = slotsOf(index, nodes.length);
      // Nodes with the same epoch would first have to settle which of them is the elder.
      await askRedis(url, ['CLUSTER', 'SET-CONFIG-EPOCH', `${index + 1}`]);
      await askRedis(url, ['CLUSTER', 'ADDSLOTSRANGE', `${from}`, `${to}`]);
    }),
  ).catch(failed);
  for (const { url, busPort } of nodes.slice(1)) {
    await askRedis(first.url, ['CLUSTER', 'MEET', '127.0.0.1', new URL(url).port, `${busPort}`]).catch(failed);
  }
  await clusterReady(nodes);
}

/**
 * Waits until each node knows all the others, and where every slot is.
 * @throws CapacityError `START_FAILED`
 */
export async function clusterReady(nodes: Pick<ClusterNode, 'url'>[]): Promise<void> {
  const deadline = performance.now() + READY_TIMEOUT_MS;
  for (const { url } of nodes) {
    for (;;) {
      const info = await askRedis(url, ['CLUSTER', 'INFO']).catch(failed);
      if (isReady(info, nodes.length)) break;
      if (performance.now() > deadline) failed(new Error(`node ${new URL(url).host} says:\n${info}`));
      await sleep(POLL_MS);
    }
  }
}

/** @returns the first and the last slot of the node */
export function slotsOf(node: number, nodes: number): [number, number] {
  return [Math.round((node * SLOTS) / nodes), Math.round(((node + 1) * SLOTS) / nodes) - 1];
}

/** @param info as `CLUSTER INFO` has it */
function isReady(info: string, nodes: number): boolean {
  return ['cluster_state:ok', `cluster_slots_ok:${SLOTS}`, `cluster_known_nodes:${nodes}`].every((line) =>
    info.includes(`${line}\r\n`),
  );
}

function failed(cause: Error): never {
  throw new CapacityError(
    'START_FAILED',
    `The nodes of the Redis Cluster did not become one: ${cause.message}`,
    'A cluster needs Redis 7.0 or newer: redis-server --version. With REDIS_NODES=1, the stack starts a single Redis.',
    { cause },
  );
}
