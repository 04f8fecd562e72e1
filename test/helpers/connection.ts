import assert from 'node:assert/strict';
import { type ConnectionTarget, connectionTargetOf } from '../../plugin/script/connection-target.ts';
import { type EngineOptions, parseEngineOptions } from '../../plugin/script/options/engine-options.ts';
import type { Script } from '../../plugin/script/script.ts';
import type { Problem } from '../../protocol/base/problems.ts';

/** The options of a script that has no mistakes in them. */
export function engineOptions(config: Script['config'], _scriptPath?: string): EngineOptions {
  const problems: Problem[] = [];
  const options = parseEngineOptions({ config, ...(_scriptPath && { _scriptPath }) }, problems);
  assert.ok(options, JSON.stringify(problems));
  return options;
}

/** How a scenario with this target and nothing else connects. */
export function connectionTo(target: string): ConnectionTarget {
  return connectionTargetOf(engineOptions({ target }), undefined);
}
