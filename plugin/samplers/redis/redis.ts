/** Reads what the adapter's Redis reports about itself; of a Redis Cluster, all nodes that have slots. */
import { redisPart } from '../../../protocol/redis-part.ts';
import { type NodeReading, RedisNode, type RedisTraffic } from './redis-node.ts';

export type { RedisTraffic } from './redis-node.ts';

export type RedisReading = NonNullable<Awaited<ReturnType<RedisReader['read']>>>;

export class RedisReader {
  /** Readings that failed; `lastFailure` is the reason of the last one. */
  failures = 0;
  lastFailure: string | undefined;
  readonly #url: string;
  #nodes: RedisNode[];
  #isCluster = false;

  /** @param url redis://[[user]:password@]host[:port], of any node; connects in the background after `ready()` */
  constructor(url: string) {
    this.#url = url;
    this.#nodes = [new RedisNode(url)];
  }

  /** Waits for the first connections, or their first failures, so that an early reading is not lost. Never rejects. */
  async ready(): Promise<void> {
    const [first] = this.#nodes;
    await first?.ready();
    const addresses = (await first?.clusterNodes()) ?? [];
    if (addresses.length === 0) return;
    first?.close();
    this.#isCluster = true;
    this.#nodes = addresses.map((address) => new RedisNode(withAddress(this.#url, address)));
    await Promise.all(this.#nodes.map((node) => node.ready()));
  }

  /** @returns sums over all nodes; undefined, and counts a failure, if one of them does not answer. Never throws. */
  async read() {
    const readings = await this.#ofAll((node) => node.read());
    if (!readings) return undefined;
    const total = (figure: Exclude<keyof NodeReading, 'runId'>) =>
      readings.reduce((sum, reading) => sum + reading[figure], 0);
    const part = (index: number) => redisPart(this.#isCluster ? this.#nodes[index]?.address : undefined);
    return {
      /** By part of the deployment, what another start of it changes. */
      runIds: Object.fromEntries(readings.map(({ runId }, index) => [part(index), runId])),
      usedMemoryBytes: total('usedMemoryBytes'),
      rssBytes: total('rssBytes'),
      pubSubOutputBytes: total('pubSubOutputBytes'),
      pubSubTotalBytes: total('pubSubTotalBytes'),
    };
  }

  /** @param stream of the adapter, if it has one @returns of each node; undefined as `read` */
  traffic(stream?: string): Promise<RedisTraffic[] | undefined> {
    return this.#ofAll((node) => node.traffic(stream));
  }

  /** A sum over only some of the nodes would be too low. */
  async #ofAll<T>(read: (node: RedisNode) => Promise<T>): Promise<T[] | undefined> {
    const answers = await Promise.allSettled(this.#nodes.map(read));
    const failed = this.#nodes[answers.findIndex(({ status }) => status === 'rejected')];
    if (!failed) return answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
    this.failures++;
    this.lastFailure = `${this.#isCluster ? `node ${failed.address}: ` : ''}${failed.lastFailure}`;
    return undefined;
  }

  /** Idempotent. */
  close(): void {
    for (const node of this.#nodes) node.close();
  }
}

/** All nodes of a cluster have the same users. */
function withAddress(url: string, address: string): string {
  const [host, port] = [address.slice(0, address.lastIndexOf(':')), address.slice(address.lastIndexOf(':') + 1)];
  const of = new URL(url);
  of.hostname = host.includes(':') ? `[${host}]` : host;
  of.port = port;
  return of.href;
}
