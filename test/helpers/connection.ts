import assert from 'node:assert/strict';
import { type ConnectionTarget, connectionTargetOf } from '../../plugin/script/connection-target.ts';
import { parseEngineOptions } from '../../plugin/script/options/engine-options.ts';

/** How a scenario with this target and nothing else connects. */
export function connectionTo(target: string): ConnectionTarget {
  const parsed = parseEngineOptions({ config: { target } });
  assert.ok('options' in parsed);
  return connectionTargetOf(parsed.options, undefined);
}
