/** Names of Redis instances, and fixes for commands that Redis refuses. */

/** Suggested fixes by error code, if the Redis URL has no valid user or password. */
export const REDIS_CREDENTIAL_FIXES = {
  NOAUTH: 'put the password into the address of Redis (`REDIS_URL`): redis://:<password>@host:port',
  WRONGPASS: 'correct user and password in the address of Redis (`REDIS_URL`)',
};

const FIXES: Record<string, string> = {
  ...REDIS_CREDENTIAL_FIXES,
  NOPERM: 'give that user the rights of an adapter: ACL SETUSER <user> +@pubsub +@connection +ping allchannels',
};

/**
 * Returns the suggested fix for a refused command; undefined for other errors.
 * @param error error of a Redis client
 */
export function redisRefusalFix(error: unknown): string | undefined {
  const [code = ''] = /^[A-Z]+/.exec(error instanceof Error ? error.message : '') ?? [];
  return FIXES[code];
}

/**
 * Returns the name that a Redis instance has among the parts of the deployment. If a run finds another instance under
 * the same name, it detects a replacement.
 * @param node `host:port` of a cluster node
 */
export function redisPartName(node?: string): string {
  return node === undefined ? 'Redis' : `Redis node ${node}`;
}
