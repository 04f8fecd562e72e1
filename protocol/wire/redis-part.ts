/**
 * Returns the name of a Redis as a part of the deployment, by which the run recognizes that it was replaced.
 * @param node `host:port` of a cluster node
 */
export function redisPart(node?: string): string {
  return node === undefined ? 'Redis' : `Redis node ${node}`;
}
