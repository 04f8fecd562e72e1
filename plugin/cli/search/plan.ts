/** What a search is asked for: its options, and the scenario with what varies in it. */
import { z } from 'zod';
import { type SearchPlan, VARIED } from '../../../protocol/documents/search.ts';
import { NO_CEILING } from '../../../report/search/next.ts';
import { scenarioName } from '../../run/measurements/run-id.ts';
import type { Script } from '../../script/script.ts';
import type { Settings } from '../../script/settings.ts';
import { badOption, parseOptions } from '../command.ts';
import { parseConditions } from '../conditions.ts';
import { merged } from '../overrides.ts';
import { readScenario, scenarioHash, settingsOf } from '../scenario.ts';
import { type Scale, scaleOf } from './scale.ts';

export interface SearchTask {
  /** Name of its folder in the results. */
  name: string;
  plan: SearchPlan;
  scale: Scale;
  /** @returns the settings of a run at a possible level */
  settingsAt(level: number): Settings;
}

const number = (schema: z.ZodNumber) => z.coerce.number('expected a number').pipe(schema);
const percent = number(z.number().nonnegative().lt(100)).transform((value) => value / 100);

const optionsSchema = z.strictObject({
  vary: z.enum(VARIED, `expected ${VARIED.join(', ')}`),
  environment: z.string().optional(),
  from: number(z.number().positive()).optional(),
  to: number(z.number().positive()).optional(),
  factor: number(z.number().gt(1)).default(2),
  tolerance: percent.refine((share) => share > 0, 'expected more than 0').default(0.05),
  repeat: number(z.number().int().nonnegative()).default(2),
  rest: number(z.number().nonnegative()).default(30),
  headroom: percent.default(0.3),
});

/** As typed. */
export type SearchOptions = z.input<typeof optionsSchema> & { until?: string[] };

/** @throws CapacityError CONFIG_INVALID, and what readScenario and settingsOf throw */
export async function readTask(path: string, { until = [], ...given }: SearchOptions): Promise<SearchTask> {
  const { conditions, problems } = parseConditions(until, '--until ');
  const {
    vary,
    environment,
    from,
    to,
    rest: restSeconds,
    ...rules
  } = parseOptions(optionsSchema, given, 'search', problems);
  const script = await readScenario(path, environment);
  const settings = settingsOf(script);
  const scale = scaleOf(settings, vary);
  const first = scale.snap(from ?? Math.min(scale.own, to ?? NO_CEILING));
  if (to !== undefined && first > to) throw badOption(`--to: the first level in this scenario is ${first}`, 'search');
  return {
    name: `search-${scenarioName(path)}-${vary}`,
    plan: {
      scenario: path,
      scenarioHash: await scenarioHash(path),
      environment: environment ?? null,
      target: settings.target,
      vary,
      until: conditions,
      from: first,
      to: to ?? null,
      restSeconds,
      ...rules,
    },
    scale,
    settingsAt: (level) =>
      settingsOf(merged(script, scale.overrides(level)) as Script, { ...process.env, ...scale.env }),
  };
}
