/** Which server the figures are of: a connection to a tuned one costs less. */
import type { Result } from '../../protocol/result/result.ts';

type Environment = Pick<Result, 'environment'>;

const KINDS = {
  tuned: 'bundled server, tuned',
  untuned: 'bundled server, untuned',
  plain: 'plain WebSocket server',
  own: 'your own server',
};

/** @returns for headlines; null if unknown, as in results of older versions */
export function serverName({ environment: { server } }: Environment): string | null {
  return server && KINDS[server.kind];
}

/** @returns what is known of it, by name: tunings first */
export function serverProperties({ environment: { server } }: Environment): [name: string, value: string][] {
  if (!server) return [];
  const tunings = Object.entries(server.tunings).map(([name, value]): [string, string] => [`tuning ${name}`, value]);
  return [...tunings, ...Object.entries(server.options)];
}
