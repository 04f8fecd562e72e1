/** Describes the measured server, because tunings lower the cost of a connection. */
import type { Result } from '../../protocol/result/result.ts';

type Environment = Pick<Result, 'environment'>;
type Run = { run: Pick<Result['run'], 'profile' | 'missing'> };

const KINDS = {
  tuned: 'bundled server, tuned',
  untuned: 'bundled server, untuned',
  plain: 'plain WebSocket server',
  own: 'your own server',
};

/** Returns the description for headlines; null if unknown, as in results of older versions. */
export function serverName({ environment: { server } }: Environment): string | null {
  return server && KINDS[server.kind];
}

/** Returns `one worker, no proxy`, with the reason unless the user chose it; null for other deployments. */
export function embeddedName({ run: { profile, missing } }: Run): string | null {
  if (profile !== 'embedded') return null;
  const reason = missing.length === 0 ? '' : `: ${missing.join(' and ')} not installed`;
  return `one worker, no proxy${reason}`;
}

/** Returns its known properties by name, tunings first. */
export function serverProperties({ environment: { server } }: Environment): [name: string, value: string][] {
  if (!server) return [];
  const tunings = Object.entries(server.tunings).map(([name, value]): [string, string] => [`tuning ${name}`, value]);
  return [...tunings, ...Object.entries(server.options)];
}
