import assert from 'node:assert/strict';
import { type Connection, connectionOf } from '../../plugin/script/connection.ts';
import { parseEngineOptions } from '../../plugin/script/engine-options.ts';

/** How a scenario with this target and nothing else connects. */
export function connectionTo(target: string): Connection {
  const parsed = parseEngineOptions({ config: { target } });
  assert.ok('options' in parsed);
  return connectionOf(parsed.options, undefined);
}
