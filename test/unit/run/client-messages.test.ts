import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MessagesMeasured } from '../../../plugin/run/measurements/measurements.ts';
import { endMessageWindow, measureMessageWindow } from '../../../plugin/run/windows/message-window.ts';
import { column } from '../../helpers/columns.ts';
import { FakeRun } from '../../helpers/fake-run.ts';

const ofEvent = (event: string): MessagesMeasured => {
  const step = { event, seconds: 1, count: 1, events: 1, acknowledge: true };
  return { steps: [step], seconds: 0, unanswered: [], skippedByServer: [], workers: [] };
};

/** Returns a run in which each query finds five more messages. */
function sending(run: FakeRun): FakeRun {
  let sent = 0;
  run.messages = () => {
    sent += 5;
    return { sent, unanswered: 5, skippedByServer: 0 };
  };
  return run;
}

test('measures client messages of the hold in ten parts, and excludes other work of the run', async () => {
  const run = sending(new FakeRun({ hold: 0.2 }));
  const measured = ofEvent('batch');
  await measureMessageWindow(run.context, measured);
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

/**
 * Ends a run.
 * @param unanswered returns the number of pending acknowledgements
 * @returns the number of queries
 */
async function ended(deadline: number, unanswered: () => number, isStopped = false): Promise<number> {
  const run = new FakeRun({ drain: { quiet: 0, deadline } });
  run.messages = () => ({ sent: 10, unanswered: unanswered(), skippedByServer: 0 });
  if (isStopped) run.stop.abort();
  await endMessageWindow(run.context);
  assert.deepEqual(new Set(run.asked), new Set(['messages stop']));
  return run.asked.length;
}

test('the run waits for acknowledgements of messages until the deadline or a stop', async () => {
  let left = 3;
  assert.equal(await ended(5, () => left--), 4);
  const never = () => 3;
  assert.ok((await ended(0.25, never)) >= 3);
  assert.equal(await ended(60, never, true), 1);
});

for (const [what, handled, codes] of [
  ['all', 50, []],
  ['messages in and around the hold', 70, []],
  ['each message twice', 100, ['MESSAGES_DISAGREE']],
  ['no message, because a middleware acknowledges it', 0, ['MESSAGES_DISAGREE']],
] as const) {
  for (const handler of ['batches', 'ownHandler']) {
    test(`the workers' ${handler} received ${what}: reports ${codes.join() || 'nothing'}`, async () => {
      const run = sending(new FakeRun({ hold: 0.05 }));
      const eventLoop = { utilization: 0, delayP50Ms: 0, delayP99Ms: 0, delayMaxMs: 0 };
      const of = (worker: string, count: number) => ({
        ...{ worker, batches: 0, ownHandler: 0, events: count, handlerMs: null, eventLoop },
        [handler]: count,
      });
      run.context.control.batches = async () => [of('w0', handled), of('w1', 0)];
      await measureMessageWindow(run.context, ofEvent('event_batch'));
      assert.deepEqual(run.codes, codes);
    });
  }
}
