/** What the tests of `init` have in common: where it writes, and what it wrote. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readScenario } from '../../plugin/cli/scenario.ts';
import { readSettings } from '../../plugin/script/settings.ts';
import { STEPS } from '../../plugin/virtual-user/steps/index.ts';
import { TOKEN } from './app.ts';

/** Long enough for the publisher's start, and for several messages. */
export const SECONDS = '1';

/** The scenario as a run would read it; undefined if there is none. */
export async function written(cwd: string) {
  const path = join(cwd, 'capacity.yml');
  if (!existsSync(path)) return { flow: undefined, variables: undefined, settings: undefined };
  process.env.CAPACITY_TOKEN = TOKEN;
  const script = await readScenario(path, undefined);
  const { variables } = script.config;
  return {
    flow: script.scenarios?.[0]?.flow,
    variables,
    settings: readSettings(script, STEPS, process.env),
  };
}
