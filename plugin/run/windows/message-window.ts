/** Measures the messages of the step `every` during the hold, and ends them. */
import { EVENTS } from '../../../protocol/wire/events.ts';
import type { RunContext } from '../context.ts';
import type { MessagesMeasured } from '../measurements/measurements.ts';
import { ChangeTimer, MAX_DEADLINES, until } from '../wait.ts';
import { noteGenerator, resetGenerator } from './generator-loops.ts';
import { inParts } from './idle-windows.ts';

/** Measures messages during the hold only, as the collections that the run forces at plateaus would delay acknowledgements. */
export async function measureMessages(context: RunContext, measured: MessagesMeasured): Promise<void> {
  const { config, measurements, link, control } = context;
  const connected = link.status.connected;
  const before = await link.messages('rest');
  await control.batches();
  await resetGenerator(context);
  let sent = 0;
  const read = async () => {
    const counts = await link.messages('measure');
    ({ sent } = counts);
    measured.unanswered.push(counts.unanswered);
    measured.passedOver.push(counts.passedOver);
  };
  await read();
  const first = sent;
  const beganMs = performance.now();
  await inParts(context, config.hold, measurements.cpu.messages, async () => {
    const before = sent;
    await read();
    return sent - before;
  });
  const rest = await link.messages('rest');
  measured.seconds = (performance.now() - beganMs) / 1000;
  measured.workers = await control.batches();
  const after = await link.messages('rest');
  // Messages of closed connections may never have arrived.
  const atLeast = link.status.connected === connected ? rest.sent - rest.unanswered - first : 0;
  checkHandled(context, measured, { atLeast, atMost: after.sent - before.sent + before.unanswered });
  await noteGenerator(context, 'messages');
}

/** Compares sent and handled messages: code before the handler may duplicate or acknowledge messages. */
function checkHandled(
  context: RunContext,
  { steps, workers }: MessagesMeasured,
  { atLeast, atMost }: { atLeast: number; atMost: number },
): void {
  const { config, measurements, signal } = context;
  const isContract = steps.every(
    ({ namespace = config.connection.namespace, event, acknowledge }) =>
      namespace === '/' && event === EVENTS.eventBatch && acknowledge,
  );
  if (signal.aborted || workers.length === 0 || !isContract) return;
  const handled = workers.reduce((sum, { batches, ownHandler }) => sum + batches + ownHandler, 0);
  if (handled >= atLeast && handled <= atMost) return;
  measurements.observations.note('messagesDiffer', { handled, atLeast, atMost });
}

const POLL_MS = 100;

/** Stops sending, and waits for acknowledgements while their backlog gets shorter. */
export async function endMessages(context: RunContext): Promise<void> {
  const { link, config, measurements, signal } = context;
  const deadlineMs = config.drain.deadline * 1000;
  const progress = new ChangeTimer();
  let unanswered = 0;
  const isOver = async () => {
    ({ unanswered } = await link.messages('stop'));
    return unanswered === 0 || progress.msSinceChange(unanswered) > deadlineMs;
  };
  const ended = await until(isOver, MAX_DEADLINES * deadlineMs, signal, POLL_MS);
  if (ended || signal.aborted) return;
  measurements.observations.note('acknowledgementsCut', { unanswered });
}
