/** Decides whether a scenario measures the bundled deployment: by what it says, never by what listens where. */
import type { Environment, PluginOptions } from './options/plugin-options.ts';

const HOST = '127.0.0.1';

export interface StackTarget {
  port: number;
  /** URL with the path and query of `config.target`. */
  url: string;
}

/**
 * The scenario has the option `stack`, its target is that address, and neither `TARGET` nor an option names a server of the
 * user's own.
 * @param target as in the scenario, or as `artillery run --target` or an environment of the scenario set it
 * @returns where the bundled deployment listens; undefined for a server of the user's own
 */
export function stackTargetOf(
  target: unknown,
  { stack, control, workers, delivery, layers }: PluginOptions,
  { TARGET, STACK_PORT, TLS = false, CAPACITY_CONTROL }: Environment,
): StackTarget | undefined {
  const isOwn = control ?? CAPACITY_CONTROL ?? delivery ?? layers ?? (typeof workers === 'object' || undefined);
  const written = URL.canParse(String(target)) ? new URL(String(target)) : undefined;
  if (!stack || !written || TARGET !== undefined || isOwn !== undefined) return undefined;
  const isItsAddress = written.hostname === HOST && (Number(written.port) || 80) === stack.port;
  if (!isItsAddress || !/^(http|ws):$/.test(written.protocol)) return undefined;
  const port = STACK_PORT ?? stack.port;
  const path = `${written.pathname.replace(/\/$/, '')}${written.search}`;
  return { port, url: `${TLS ? 'https' : 'http'}://${HOST}:${port}${path}` };
}
