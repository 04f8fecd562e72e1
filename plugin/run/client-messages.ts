/** The messages that connections send again and again: the window in which they are measured, and their end. */
import { HOLD_PARTS } from './broadcast-window.ts';
import type { RunContext } from './context.ts';
import { noteGenerator, resetGenerator } from './generator-loops.ts';
import type { MessagesMeasured } from './measurements.ts';
import { pause } from './wait.ts';
import { mark, windowSince } from './windows.ts';

/**
 * The hold: all connections are there, and nothing else happens. Collections of garbage, which the run orders at the plateaus,
 * would make acknowledgements late.
 */
export async function measureMessages(context: RunContext, measured: MessagesMeasured): Promise<void> {
  const { config, measurements, link, control, signal } = context;
  await control.batches();
  await resetGenerator(context);
  let { sent } = await link.messages('measure');
  const beganMs = performance.now();
  for (let part = 0; part < HOLD_PARTS && !signal.aborted; part++) {
    const begin = await mark(context);
    await pause((config.hold * 1000) / HOLD_PARTS, signal);
    const before = sent;
    ({ sent } = await link.messages('measure'));
    measurements.cpu.messages.push(await windowSince(context, begin, sent - before));
  }
  await link.messages('rest');
  measured.seconds = (performance.now() - beganMs) / 1000;
  measured.workers = await control.batches();
  await noteGenerator(context, 'messages');
}

const POLL_MS = 100;

/** No more is sent, so that what is still unanswered after the drain is unanswered for good. */
export async function endMessages({ link, config, signal }: RunContext): Promise<void> {
  let { unanswered } = await link.messages('stop');
  const deadlineMs = performance.now() + config.drain.deadline * 1000;
  while (unanswered > 0 && performance.now() < deadlineMs && !signal.aborted) {
    await pause(POLL_MS, signal);
    ({ unanswered } = await link.messages('stop'));
  }
}
