import { parseEngineOptions } from '../../plugin/script/options/engine-options.ts';
import { readScenarios } from '../../plugin/script/scenarios.ts';
import { type Script, usesOurEngine } from '../../plugin/script/script.ts';
import { STEP_KINDS } from '../../plugin/virtual-user/steps/index.ts';
import type { InputProblem } from '../../protocol/base/problems.ts';

/** @returns the mistakes in the parts of a script that the engine reads */
export function mistakesIn(script: Script): InputProblem[] {
  const { problems } = readScenarios(script, STEP_KINDS);
  if (script.scenarios?.some((scenario) => usesOurEngine(scenario, script))) parseEngineOptions(script, problems);
  return problems;
}
