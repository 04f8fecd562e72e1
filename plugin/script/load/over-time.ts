/** What memory over time asks of a scenario: virtual users that come and go, and nothing that needs them to stay. */
import { formatPath, type Problem } from '../../../protocol/problems.ts';
import type { Environment, PluginOptions } from '../options/plugin-options.ts';
import { ENGINE, PLUGIN } from '../script.ts';
import type { Flow } from './flow.ts';
import { resized } from './load-profile.ts';
import type { Phase } from './phases.ts';

export type OverTime = NonNullable<PluginOptions['overTime']>;

/** @param options as the user wrote them */
export function overTimeProblems(options: unknown, variables: Environment, flows: Flow[], engine: string): Problem[] {
  const given = (options ?? {}) as Record<string, unknown>;
  const option = (name: string) => formatPath(['config', 'plugins', PLUGIN, name]);
  const variable = (name: string) => formatPath(['environment variable', name]);
  if (given.overTime === undefined) {
    const sized = given.fault === undefined ? (['CONNECTIONS'] as const) : [];
    return (['COLLECT', 'DURATION', ...sized] as const)
      .filter((name) => variables[name] !== undefined)
      .map((name) => ({
        path: variable(name),
        message: `only for scenarios with the option \`overTime\`${name === 'CONNECTIONS' ? ' or `fault`' : ''}`,
      }));
  }
  const problems: Problem[] = [];
  const gone = 'with `overTime`, nobody is left for it at the end of the run';
  for (const name of ['hold', 'broadcasts', 'delivery']) {
    if (given[name] !== undefined) problems.push({ path: option(name), message: gone });
  }
  for (const name of ['HOLD', 'BROADCASTS'] as const) {
    if (variables[name] !== undefined) problems.push({ path: variable(name), message: gone });
  }
  if (engine !== ENGINE) {
    problems.push({ path: option('overTime'), message: `only engine ${ENGINE} tells how many connections have left` });
  }
  if (variables.CONNECTIONS !== undefined && variables.DURATION !== undefined) {
    problems.push({
      path: variable('DURATION'),
      message: 'CONNECTIONS is set, too; at a given rate, one follows from the other',
    });
  }
  const holding = flows.findIndex(({ holds }) => holds);
  if (holding >= 0) {
    const message = 'its virtual users never leave; in place of `hold`, let them `think` for some seconds';
    problems.push({ path: formatPath(['scenarios', holding, 'flow']), message });
  }
  return problems;
}

/** @returns the phases as `CONNECTIONS` or `DURATION` change them */
export function resizedPhases(phases: Phase[], { CONNECTIONS, DURATION }: Environment, perUser: number): Phase[] {
  if (CONNECTIONS !== undefined) return resized(phases, Math.max(1, Math.round(CONNECTIONS / perUser)));
  if (DURATION === undefined) return phases;
  return phases.map((phase) =>
    phase.pause === undefined ? { ...phase, duration: Math.ceil(DURATION / 1000) } : phase,
  );
}
