/**
 * Name of a Redis among the parts of a deployment, by which the run knows that it was replaced.
 * @param node its `host:port` in a cluster
 */
export function redisPart(node?: string): string {
  return node === undefined ? 'Redis' : `Redis node ${node}`;
}
