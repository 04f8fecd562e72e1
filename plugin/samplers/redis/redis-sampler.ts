/** Reads the figures of the adapter's Redis. For a Redis Cluster, sums the figures of all nodes that have slots. */

import { REDIS_CREDENTIAL_FIXES, redisPartName } from '../../../protocol/wire/redis-refusals.ts';
import { errorCodeOf, type SourceAbsence, SourceAvailability } from '../absence.ts';
import { TimeLimitError } from '../late-answers.ts';
import { type RedisFigures, RedisNode, type RedisTraffic } from './redis-node.ts';

export type { RedisTraffic } from './redis-node.ts';

export class RedisReader {
  /** Number of failed readings after the first answer, not counting readings that Redis refused. */
  failures = 0;
  readonly #availability = new SourceAvailability();
  readonly #url: string;
  #nodes: RedisNode[];
  #isCluster = false;

  /** @param url redis://[[user]:password@]host[:port] of any node; the connection opens after `ready()` */
  constructor(url: string) {
    this.#url = url;
    this.#nodes = [new RedisNode(url)];
  }

  /** Connects to all nodes, and waits until the first attempt for each node has succeeded or failed. Never rejects. */
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
    // A first reading shows before the load whether Redis refuses this user.
    await this.read();
  }

  get name(): string {
    return `Redis at ${new URL(this.#url).host}`;
  }

  get absence(): SourceAbsence | undefined {
    return this.#availability.absence;
  }

  /** Returns whether all nodes answer; a refusal counts as an answer. Never rejects. */
  async answers(): Promise<boolean> {
    const answers = await Promise.all(this.#nodes.map((node) => node.answers()));
    const silent = this.#nodes[answers.indexOf(false)];
    if (silent) this.#fail(silent);
    return !silent;
  }

  /**
   * Returns the sum of each figure over all nodes; undefined if a node does not answer, which counts as a failed
   * reading. Never throws.
   */
  async read() {
    const readings = await this.#ofAll((node) => node.read());
    if (!readings) return undefined;
    const part = (index: number) => redisPartName(this.#isCluster ? this.#nodes[index]?.address : undefined);
    return {
      /** Identities of the nodes by name, which change with a restart. */
      runIds: Object.fromEntries(readings.map(({ runId }, index) => [part(index), runId])),
      ...readings.map(({ figures }) => figures).reduce(sumOf),
    };
  }

  /**
   * Reads the traffic of each node.
   * @param stream key of the adapter's stream, if the adapter uses a stream
   * @returns undefined if a node does not answer
   */
  traffic(stream?: string): Promise<RedisTraffic[] | undefined> {
    return this.#ofAll((node) => node.traffic(stream));
  }

  /**
   * Calls a function for each node. Returns undefined if a node does not answer, because a sum over the other nodes
   * would be too low.
   */
  async #ofAll<T>(read: (node: RedisNode) => Promise<T>): Promise<T[] | undefined> {
    if (this.absence?.reason === 'refused') return undefined;
    const answers = await Promise.allSettled(this.#nodes.map(read));
    const failed = this.#nodes[answers.findIndex(({ status }) => status === 'rejected')];
    if (!failed) {
      this.#availability.succeed();
      return answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
    }
    const { reason, sinceUs } = this.#fail(failed);
    if (reason !== 'refused' && sinceUs !== undefined) this.failures++;
    return undefined;
  }

  #fail({ address, lastFailure }: RedisNode): SourceAbsence {
    const detail = `${this.#isCluster ? `node ${address}: ` : ''}${lastFailure?.message}`;
    return this.#availability.fail(lastFailure, detail, fixOf(lastFailure, this.#url.startsWith('rediss:')));
  }

  /** Idempotent. */
  close(): void {
    for (const node of this.#nodes) node.close();
  }
}

function sumOf(a: RedisFigures, b: RedisFigures): RedisFigures {
  const sum = (a: number | undefined, b: number | undefined) =>
    a === undefined || b === undefined ? undefined : a + b;
  const sums = Object.entries(a).map(([key, value]) => [key, sum(value, b[key as keyof RedisFigures])]);
  return Object.fromEntries(sums) as RedisFigures;
}

const ADDRESS = 'the address of Redis (`REDIS_URL`)';
const TLS = 'write rediss:// in the address of a Redis with TLS, and redis:// in that of one without';
const FIXES: Record<string, string> = {
  NOPERM: 'let that user read: ACL SETUSER <user> +info +client|list +ping',
  ...REDIS_CREDENTIAL_FIXES,
  LOADING: 'start the run when Redis has loaded its data',
  MASTERDOWN: 'name the master, or see why this replica has lost it',
  ECONNREFUSED: `start Redis, or correct ${ADDRESS}`,
  ENOTFOUND: `correct the host name in ${ADDRESS}`,
  ECONNRESET: TLS,
  EPROTO: TLS,
};

/** Returns a suggested fix for an error; undefined if the default fix for the reason is better. */
function fixOf(error: Error | undefined, isTls: boolean): string | undefined {
  const code = errorCodeOf(error);
  if (/CERT|ISSUER|ALTNAME|^ERR_(SSL|TLS)/.test(code)) return TLS;
  if (error instanceof TimeLimitError || code === 'ETIMEDOUT')
    // A Redis without TLS takes the TLS handshake for an incomplete command, and never answers.
    return `let this machine reach ${ADDRESS}: a firewall may drop it${isTls ? `; or ${TLS}` : ''}`;
  return FIXES[code] ?? (/closed unexpectedly/i.test(error?.message ?? '') ? TLS : undefined);
}

/**
 * Returns the URL with another address and the same user name and password, because all nodes of a cluster have the
 * same users.
 */
function withAddress(url: string, address: string): string {
  const [host, port] = [address.slice(0, address.lastIndexOf(':')), address.slice(address.lastIndexOf(':') + 1)];
  const of = new URL(url);
  of.hostname = host.includes(':') ? `[${host}]` : host;
  of.port = port;
  return of.href;
}
