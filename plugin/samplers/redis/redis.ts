/** Reads what the adapter's Redis reports about itself; of a Redis Cluster, all nodes that have slots. */
import { redisPart } from '../../../protocol/redis-part.ts';
import { RedisNode, type RedisTraffic } from './redis-node.ts';

export type { RedisTraffic } from './redis-node.ts';

export type RedisReading = NonNullable<Awaited<ReturnType<RedisReader['read']>>>;

export class RedisReader {
  /** Readings that failed; `lastFailure` is the reason of the last one. */
  failures = 0;
  lastFailure: string | undefined;
  /** Why this user may not read anything; undefined if it may, or if Redis did not answer when the run began. */
  refusal: string | undefined;
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
    if (addresses.length > 0) {
      first?.close();
      this.#isCluster = true;
      this.#nodes = addresses.map((address) => new RedisNode(withAddress(this.#url, address)));
      await Promise.all(this.#nodes.map((node) => node.ready()));
    }
    // What is read later is tried once: what this user may not read is absent, and no failure.
    const reading = await this.read();
    this.failures = 0;
    const why = this.lastFailure;
    if (!reading && (await this.answers())) this.refusal = why;
  }

  /** @returns whether all nodes run, also if this user may not read them. Never rejects. */
  async answers(): Promise<boolean> {
    const answers = await Promise.all(this.#nodes.map((node) => node.answers()));
    const silent = this.#nodes[answers.indexOf(false)];
    if (silent) this.lastFailure = this.#failureOf(silent);
    return !silent;
  }

  /** @returns sums over all nodes; undefined, and counts a failure, if one of them does not answer. Never throws. */
  async read() {
    const readings = await this.#ofAll((node) => node.read());
    if (!readings) return undefined;
    const total = (figure: 'usedMemoryBytes' | 'rssBytes' | 'keys' | 'channels' | 'patterns' | 'clients') =>
      readings.reduce((sum, reading) => sum + reading[figure], 0);
    const ofSubscribers = (figure: 'pubSubOutputBytes' | 'pubSubTotalBytes') =>
      readings.reduce<number | undefined>((sum, { [figure]: bytes }) => {
        return sum === undefined || bytes === undefined ? undefined : sum + bytes;
      }, 0);
    const part = (index: number) => redisPart(this.#isCluster ? this.#nodes[index]?.address : undefined);
    return {
      /** By part of the deployment, what another start of it changes. */
      runIds: Object.fromEntries(readings.map(({ runId }, index) => [part(index), runId])),
      usedMemoryBytes: total('usedMemoryBytes'),
      rssBytes: total('rssBytes'),
      keys: total('keys'),
      channels: total('channels'),
      patterns: total('patterns'),
      clients: total('clients'),
      pubSubOutputBytes: ofSubscribers('pubSubOutputBytes'),
      pubSubTotalBytes: ofSubscribers('pubSubTotalBytes'),
    };
  }

  /** @param stream of the adapter, if it has one @returns of each node; undefined as `read` */
  traffic(stream?: string): Promise<RedisTraffic[] | undefined> {
    return this.#ofAll((node) => node.traffic(stream));
  }

  /** A sum over only some of the nodes would be too low. */
  async #ofAll<T>(read: (node: RedisNode) => Promise<T>): Promise<T[] | undefined> {
    if (this.refusal !== undefined) return undefined;
    const answers = await Promise.allSettled(this.#nodes.map(read));
    const failed = this.#nodes[answers.findIndex(({ status }) => status === 'rejected')];
    if (!failed) return answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
    this.failures++;
    this.lastFailure = this.#failureOf(failed);
    return undefined;
  }

  #failureOf({ address, lastFailure }: RedisNode): string {
    return `${this.#isCluster ? `node ${address}: ` : ''}${lastFailure}`;
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
