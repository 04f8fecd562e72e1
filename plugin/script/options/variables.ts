/** The environment variables that override a scenario. */
import { check, type Problem } from '../../../protocol/problems.ts';
import { type Environment, environmentSchema, type PluginOptions } from './plugin-options.ts';

/** @returns those that are set, with defaults; only defaults if one of them is wrong */
export function readVariables(env: NodeJS.ProcessEnv, problems: Problem[]): Environment {
  const read = check(environmentSchema, withoutEmpty(env), ['environment variable'], problems);
  return read ?? environmentSchema.parse({});
}

/** `RATE= npx artillery …` means "not set". */
export function withoutEmpty(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
}

/** The options as the environment variables change them. */
export function withVariables({ live, ...options }: PluginOptions, variables: Environment) {
  const { overTime, broadcasts, rooms, control } = options;
  const { CAPACITY_CONTROL, CAPACITY_TOKEN, CAPACITY_LIVE } = variables;
  const urls = CAPACITY_CONTROL?.split(',') ?? control?.urls;
  return {
    ...options,
    profile: variables.PROFILE ?? options.profile,
    results: variables.CAPACITY_RESULTS ?? options.results,
    overTime: overTime && { ...overTime, collect: variables.COLLECT ?? overTime.collect },
    hold: overTime ? 0 : (variables.HOLD ?? options.hold),
    broadcasts: { ...broadcasts, count: overTime ? 0 : (variables.BROADCASTS ?? broadcasts.count) },
    // Where the broadcasts go; a single room is `room`.
    rooms: { name: options.room, ...rooms, count: variables.ROOMS ?? rooms.count },
    control: urls && { urls, token: CAPACITY_TOKEN ?? control?.token ?? '' },
    livePort: livePortOf(live, CAPACITY_LIVE),
  };
}

export type RunOptions = ReturnType<typeof withVariables>;

/** @returns 0 for a free port; undefined for no live view */
function livePortOf(option: PluginOptions['live'], variable: number | undefined): number | undefined {
  if (variable !== undefined) return variable === 0 ? undefined : variable === 1 ? 0 : variable;
  if (option === false) return undefined;
  return option === true ? 0 : option.port;
}
