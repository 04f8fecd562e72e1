import assert from 'node:assert/strict';
import { describe, it, mock } from 'node:test';
import type { FleetAnswer } from '../../../plugin/fleet/messages.ts';
import { type ConnectionCommand, OpenSchedule } from '../../../plugin/fleet/process/connections/open-schedule.ts';

const open = (id: number, afterMs?: number): ConnectionCommand => ({
  op: 'open',
  id,
  requestId: id,
  namespace: '/',
  afterMs,
});
const emit = (id: number): ConnectionCommand => ({ op: 'emit', id, namespace: '/', event: 'join_room', args: [] });
const close = (id: number): ConnectionCommand => ({ op: 'close', id, requestId: 100 + id });

describe('a turn to open', () => {
  it('comes at once where no time is given, and for what is open already', (t) => {
    const { turns, done } = start(t);
    for (const command of [open(1), emit(1), open(2, 3), close(1)]) turns.add(command);
    assert.deepEqual(done, [open(1), emit(1), open(2, 3), close(1)]);
  });

  it('runs when it is due, followed by the commands that arrived meanwhile', (t) => {
    const { turns, done } = start(t);
    for (const command of [open(1, 20), emit(1), open(2, 10)]) turns.add(command);
    assert.deepEqual(done, []);
    mock.timers.tick(10);
    assert.deepEqual(done, [open(2, 10)]);
    mock.timers.tick(10);
    turns.add(close(1));
    assert.deepEqual(done.slice(1), [open(1, 20), emit(1), close(1)]);
  });

  it('never runs for a connection that is closed before, and reports that it failed', (t) => {
    const { turns, done, answers } = start(t);
    for (const command of [open(1, 20), emit(1), close(1)]) turns.add(command);
    mock.timers.tick(100);
    assert.deepEqual(done, [close(1)]);
    assert.deepEqual(answers, [{ op: 'failed', requestId: 1, cause: 'closed', message: 'closed by the virtual user' }]);
  });

  it('never comes after the end', (t) => {
    const { turns, done } = start(t);
    turns.add(open(1, 20));
    turns.close();
    mock.timers.tick(100);
    assert.deepEqual(done, []);
  });
});

function start(t: { after(restore: () => void): void }) {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  const done: ConnectionCommand[] = [];
  const answers: FleetAnswer[] = [];
  const turns = new OpenSchedule(
    (command) => done.push(command),
    (answer) => answers.push(answer),
  );
  return { turns, done, answers };
}
