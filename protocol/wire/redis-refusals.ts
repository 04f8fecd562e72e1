/** Names of a Redis, and fixes if it refuses a command. */

/** Fixes by error code, for an address without a valid user or password. */
export const CREDENTIAL_FIXES = {
  NOAUTH: 'put the password into the address of Redis (`REDIS_URL`): redis://:<password>@host:port',
  WRONGPASS: 'correct user and password in the address of Redis (`REDIS_URL`)',
};

const FIXES: Record<string, string> = {
  ...CREDENTIAL_FIXES,
  NOPERM: 'give that user the rights of an adapter: ACL SETUSER <user> +@pubsub +@connection +ping allchannels',
};

/** Returns the fix for a refusal; undefined for any other error. @param error error of a Redis client */
export function refusalFix(error: unknown): string | undefined {
  const [code = ''] = /^[A-Z]+/.exec(error instanceof Error ? error.message : '') ?? [];
  return FIXES[code];
}

/**
 * Returns the name of a Redis as a part of the deployment, by which the run recognizes that it was replaced.
 * @param node `host:port` of a cluster node
 */
export function redisPart(node?: string): string {
  return node === undefined ? 'Redis' : `Redis node ${node}`;
}
