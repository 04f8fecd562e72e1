import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MessagesMeasured } from '../../../plugin/run/measurements/client-messages.ts';
import { endMessages, measureMessages } from '../../../plugin/run/windows/client-messages.ts';
import { column } from '../../helpers/columns.ts';
import { FakeRun } from '../../helpers/fake-run.ts';

const STEP = { event: 'batch', seconds: 1, count: 1, events: 1, acknowledge: true };

test('the hold is measured in ten parts, from which everything else is kept out', async () => {
  const run = new FakeRun({ hold: 0.2 });
  let sent = 100;
  run.messages = () => {
    sent += 5;
    return { sent, unanswered: 0 };
  };
  const measured: MessagesMeasured = { steps: [STEP], seconds: 0, unanswered: [], workers: [] };
  await measureMessages(run.context, measured);
  const { cpu, generator } = run.measurements;
  assert.deepEqual(column(cpu.messages, 'units'), Array(10).fill(5));
  assert.deepEqual(cpu.idle, []);
  assert.ok(measured.seconds >= 0.2, `${measured.seconds}`);
  const asked = run.asked.filter((one) => one !== 'messages measure');
  assert.deepEqual(asked, [
    ...['messages rest', 'batches', 'snapshots', 'messages rest'],
    ...['batches', 'messages rest', 'snapshots'],
  ]);
  assert.deepEqual([...new Set(generator.map(({ window }) => window))], ['messages']);
});

test('after the stop, the run waits for the acknowledgements that are under way', async () => {
  const run = new FakeRun({ drain: { quiet: 0, deadline: 5 } });
  let unanswered = 3;
  run.messages = () => ({ sent: 10, unanswered: unanswered-- });
  await endMessages(run.context);
  assert.deepEqual(run.asked, Array(4).fill('messages stop'));
});

test('a server that never answers is waited for until the deadline, or until the run is stopped', async () => {
  const run = new FakeRun({ drain: { quiet: 0, deadline: 0.25 } });
  run.messages = () => ({ sent: 10, unanswered: 3 });
  await endMessages(run.context);
  assert.ok(run.asked.length >= 3, `asked ${run.asked.length} times`);
  const stopped = new FakeRun({ drain: { quiet: 0, deadline: 60 } });
  stopped.messages = run.messages;
  stopped.stop.abort();
  await endMessages(stopped.context);
  assert.equal(stopped.asked.length, 1);
});

for (const [what, handled, codes] of [
  ['all', 50, []],
  ['those around the hold, too', 70, []],
  ['each twice', 100, ['MESSAGES_DISAGREE']],
  ['none, as a middleware acknowledges them', 0, ['MESSAGES_DISAGREE']],
] as const) {
  test(`the workers' handlers got ${what}: ${codes.join() || 'no doubt'}`, async () => {
    const run = new FakeRun({ hold: 0.05 });
    let sent = 0;
    run.messages = () => {
      sent += 5;
      return { sent, unanswered: 5 };
    };
    const eventLoop = { utilization: 0, delayP50Ms: 0, delayP99Ms: 0, delayMaxMs: 0 };
    const of = (worker: string, batches: number, ownHandler: number) => ({
      ...{ worker, batches, ownHandler, events: batches, handlerMs: null, eventLoop },
    });
    const measured = (): MessagesMeasured => ({
      steps: [{ ...STEP, event: 'event_batch' }],
      seconds: 0,
      unanswered: [],
      workers: [],
    });
    run.context.control.batches = async () => [of('w0', handled, 0), of('w1', 0, 0)];
    await measureMessages(run.context, measured());
    assert.deepEqual(run.codes, codes);
    run.context.control.batches = async () => [of('w0', 0, handled), of('w1', 0, 0)];
    run.measurements.warnings = [];
    await measureMessages(run.context, measured());
    assert.deepEqual(run.codes, codes, "the server's own handler");
  });
}
