/** Lists the settings of a run. */

/** Settings that follow from phases and flow, and named settings. */
const SAID_ELSEWHERE = new Set(['load', 'target', 'profile', 'transports']);

/** Returns each setting with its value; phases in one line. */
export function settingLines(settings: Record<string, unknown>): [path: string, text: string][] {
  return Object.entries(settings)
    .filter(([name]) => !SAID_ELSEWHERE.has(name))
    .flatMap(([name, value]) =>
      name === 'phases' ? [[name, phasesText(value)] as [string, unknown]] : leaves(value, name),
    )
    .map(([path, value]) => [path, settingText(value)]);
}

/** In one line, because the phases of other loads differ: `2 s at 125/s, 4 s pause`. */
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

/** Returns `broadcasts.count`, `flow.0.emit`, … with their values. */
function leaves(value: unknown, path = ''): [path: string, leaf: unknown][] {
  if (typeof value !== 'object' || value === null) return [[path, value]];
  return Object.entries(value).flatMap(([key, inner]) => leaves(inner, path === '' ? key : `${path}.${key}`));
}

export function settingText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? 'not set');
}
