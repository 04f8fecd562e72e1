/** Lists the settings of a run, and the properties of the measured server. */
import type { Result } from '../../protocol/result/result.ts';

/** Settings that other parts of the report show. */
const REPORTED_ELSEWHERE = new Set(['load', 'target', 'profile', 'transports']);

/** Returns a line with each setting and its value. All phases are combined in one line. */
export function settingLines(settings: Record<string, unknown>): [path: string, text: string][] {
  return Object.entries(settings)
    .filter(([name]) => !REPORTED_ELSEWHERE.has(name))
    .flatMap(([name, value]) =>
      name === 'phases' ? [[name, phasesText(value)] as [string, unknown]] : leaves(value, name),
    )
    .map(([path, value]) => [path, settingText(value)]);
}

/**
 * Returns all phases in one line: `2 s at 125/s, 4 s pause`. In a comparison, two loads with different phases then
 * differ in one line only.
 */
function phasesText(phases: unknown): string {
  if (!Array.isArray(phases)) return settingText(phases);
  return phases
    .map(({ name: _, ...phase }: Record<string, unknown>) => {
      const { duration, arrivalRate, rampTo = arrivalRate, pause, ...others } = phase;
      if (Object.keys(others).length > 0) return settingText(phase);
      const rates = [...new Set([arrivalRate, rampTo])].join(' to ');
      return pause === undefined ? `${duration} s at ${rates}/s` : `${pause} s pause`;
    })
    .join(', ');
}

/** Returns nested settings as key and value, with dots in the keys, such as `broadcasts.count` or `flow.0.emit`. */
function leaves(value: unknown, path = ''): [path: string, leaf: unknown][] {
  if (typeof value !== 'object' || value === null) return [[path, value]];
  return Object.entries(value).flatMap(([key, inner]) => leaves(inner, path === '' ? key : `${path}.${key}`));
}

export function settingText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? 'not set');
}

/** The part of a result that describes the measured server. Tuned servers use less memory per connection. */
type Environment = Pick<Result, 'environment'>;
type Run = { run: Pick<Result['run'], 'profile' | 'missing'> };

const KINDS = {
  tuned: 'bundled server, tuned',
  untuned: 'bundled server, untuned',
  plain: 'plain WebSocket server',
  own: 'your own server',
};

/** Returns the description of the server for headlines; null if unknown, as in results of older versions. */
export function serverName({ environment: { server } }: Environment): string | null {
  return server && KINDS[server.kind];
}

/**
 * Returns `one worker, no proxy` for the embedded profile, with the reason unless the user chose it. Null for other
 * profiles.
 */
export function embeddedName({ run: { profile, missing } }: Run): string | null {
  if (profile !== 'embedded') return null;
  const reason = missing.length === 0 ? '' : `: ${missing.join(' and ')} not installed`;
  return `one worker, no proxy${reason}`;
}

/** Returns the known properties of the server by name. Properties that tune the server come first. */
export function serverProperties({ environment: { server } }: Environment): [name: string, value: string][] {
  if (!server) return [];
  const tunings = Object.entries(server.tunings).map(([name, value]): [string, string] => [`tuning ${name}`, value]);
  return [...tunings, ...Object.entries(server.options)];
}
