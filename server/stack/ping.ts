/** How often the workers of a stack ping, and how long a connection through its proxy can be silent. */

export interface Ping {
  intervalMs: number;
  /** How long a worker waits for the answer. */
  timeoutMs: number;
}

const MIN_PROXY_TIMEOUT_SECONDS = 90;

/** The workers inherit the environment and read the same variables, which they check. */
export function pingOf(env: NodeJS.ProcessEnv): Ping {
  return {
    intervalMs: Number(env.CAPACITY_PING_INTERVAL_MS || 25_000),
    timeoutMs: Number(env.CAPACITY_PING_TIMEOUT_MS || 20_000),
  };
}

/** @returns the proxy's: twice a ping cycle, so that Socket.IO finds dead connections, and never the proxy */
export function proxyTimeoutSeconds({ intervalMs, timeoutMs }: Ping): number {
  return Math.max(MIN_PROXY_TIMEOUT_SECONDS, Math.ceil((2 * (intervalMs + timeoutMs)) / 1000));
}
