import assert from 'node:assert/strict';
import { it } from 'node:test';
import { HandlerGuard } from '../../../server/guard.ts';
import { assertEach } from '../../helpers/columns.ts';

it('the guard of event handlers catches and counts every error, and logs one line a minute', async (t) => {
  const lines = t.mock.method(console, 'error', () => {}).mock;
  const counted: string[] = [];
  const guard = new HandlerGuard({ malformed: (event) => counted.push(event) });
  const faults: (() => unknown)[] = [
    () => {
      throw new Error('two\nlines \u001b[2J');
    },
    () => {
      throw undefined;
    },
    async () => {
      throw new Error('later');
    },
    () => Promise.reject({ toString: 1 }),
  ];
  for (const fault of faults) guard.wrap('an event', fault)();
  await new Promise(setImmediate);
  assert.deepEqual(counted, Array(faults.length).fill('an event'));
  assertEach(lines.calls, ({ arguments: [line] }) => line, ['socketio-capacity: an event: two lines \\u{1b}[2J']);
  t.mock.method(performance, 'now', () => 1e9);
  guard.complain('a minute later');
  assert.equal(lines.callCount(), 2);
});

it('the guard passes arguments and `this` to an event handler', () => {
  const calls: unknown[] = [];
  const guard = new HandlerGuard({ malformed: () => assert.fail() });
  function handler(this: string, ...args: number[]) {
    calls.push([String(this), ...args]);
  }
  guard.wrap('event', handler).call('socket', 1, 2);
  assert.deepEqual(calls, [['socket', 1, 2]]);
});
