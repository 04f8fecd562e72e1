/**
 * Plays virtual users on a whole engine with its fleet processes. It uses Artillery's helpers, but not Artillery
 * itself.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import CapacityEngine from '../../plugin/engine/engine.ts';
import type { Script } from '../../plugin/script/script.ts';
import type { UserContext } from '../../plugin/virtual-user/user-types.ts';
import { helpers } from './virtual-user.ts';

const artillery = createRequire(createRequire(import.meta.url).resolve('artillery/package.json'));
const yaml = artillery('js-yaml') as { safeLoad(text: string): Script };

/** @param name name of a file in test/fixtures/flows */
export function readFlow(name: string): Script {
  return yaml.safeLoad(readFileSync(new URL(`../fixtures/flows/${name}`, import.meta.url), 'utf8'));
}

/** Plays the first scenario of a script once. */
export async function playOnce(script: Script, vars: Record<string, unknown> = {}) {
  const aborted = Promise.withResolvers<never>();
  const abort = (error: Error) => aborted.reject(error);
  const runtime = { testRunId: 'test', engineId: '1', isWorker: true, warn: () => {}, fail: () => {}, abort };
  const engine = new CapacityEngine(script, { on: () => {} }, helpers, { runtime });
  await Promise.race([engine.init(), aborted.promise]);
  const counters: Record<string, number> = {};
  const emit = (event: string, name: string, value = 1) => {
    const key = event === 'error' ? `errors.${name}` : name;
    if (event === 'counter' || event === 'error') counters[key] = (counters[key] ?? 0) + value;
  };
  const [scenario = {}] = script.scenarios ?? [];
  const context: UserContext = { vars: { target: script.config.target, ...vars }, funcs: FUNCTIONS };
  try {
    const play = engine.createScenario(scenario, { emit } as never);
    const error = await new Promise<{ code?: string; message?: string } | null>((resolve) =>
      play(context, (found) => resolve(found as never)),
    );
    return { error, counters };
  } finally {
    await engine.close();
  }
}

/** Functions for templates, like Artillery's. */
export const FUNCTIONS: UserContext['funcs'] = {
  $randomNumber: (min, max) => Number(min) + Math.floor(Math.random() * (Number(max) - Number(min) + 1)),
  $randomString: (length) => 'x'.repeat(Number(length)),
};
