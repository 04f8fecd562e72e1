/** Runs `adopt` on a scenario of another engine. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { parse } from 'yaml';
import { readScenario, settingsOfScript } from '../../plugin/cli/scenario-argument.ts';
import { cli } from './cli.ts';
import { tempFolder } from './temp-folder.ts';

export const V3 = {
  target: 'http://127.0.0.1:1',
  engines: { 'socketio-v3': {} },
  phases: [{ duration: 5, arrivalRate: 2 }],
};

/**
 * @param scenario text, or parts of a scenario of `artillery-engine-socketio-v3`
 * @returns the output and the written file
 */
export async function adopt(t: TestContext, scenario: string | object, ...args: string[]) {
  const cwd = tempFolder(t);
  const text = typeof scenario === 'string' ? scenario : JSON.stringify(scenario);
  writeFileSync(join(cwd, 'chat.yml'), text);
  const answer = await cli(cwd, 'adopt', 'chat.yml', ...args);
  assert.equal(readFileSync(join(cwd, 'chat.yml'), 'utf8'), text, 'the scenario itself stays');
  const path = join(cwd, 'chat.capacity.yml');
  const written = existsSync(path) ? readFileSync(path, 'utf8') : '';
  return { ...answer, path, written, script: parse(written) ?? {} };
}

/** Asserts that a run accepts the scenario that `adopt` wrote. */
export async function accepted(...args: Parameters<typeof adopt>) {
  const answer = await adopt(...args);
  assert.equal(answer.code, 0, answer.said);
  return { ...answer, settings: settingsOfScript(await readScenario(answer.path, undefined)) };
}

/** @param flow steps, without the steps that `adopt` adds at the end */
export async function adoptFlow(
  t: TestContext,
  flow: unknown[],
  { config = {}, ...scenario }: Record<string, object> = {},
) {
  const scenarios = [{ engine: 'socketio-v3', flow, ...scenario }];
  const answer = await accepted(t, { config: { ...V3, ...config }, scenarios }, '--leave');
  return { ...answer, flow: answer.script.scenarios[0].flow as object[] };
}
