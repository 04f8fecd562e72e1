import assert from 'node:assert/strict';
import { type ConnectionTarget, connectionTargetOf } from '../../plugin/script/connection-target.ts';
import { type EngineOptions, parseEngineOptions } from '../../plugin/script/options/engine-options.ts';
import type { Script } from '../../plugin/script/script.ts';
import type { InputProblem } from '../../protocol/base/problems.ts';

/** @returns the options of a script without mistakes */
export function engineOptions(config: Script['config'], _scriptPath?: string): EngineOptions {
  const problems: InputProblem[] = [];
  const options = parseEngineOptions({ config, ...(_scriptPath && { _scriptPath }) }, problems);
  assert.ok(options, JSON.stringify(problems));
  return options;
}

/** @returns the connection target of a scenario that has only this target */
export function connectionTo(target: string): ConnectionTarget {
  return connectionTargetOf(engineOptions({ target }), undefined);
}
