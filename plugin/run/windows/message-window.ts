/**
 * Measures the messages of the step `every` during the hold, and stops them. Also counts copies of events without ids
 * while all connections are open.
 */
import { CONTRACT_EVENTS } from '../../../protocol/wire/events.ts';
import type { RunContext } from '../context.ts';
import type { MessagesMeasured } from '../measurements/measurements.ts';
import { ChangeTimer, MAX_DEADLINES, pollUntil } from '../wait.ts';
import { beginGeneratorWindow, endGeneratorWindow } from './generator-window.ts';
import { measureInParts } from './idle-windows.ts';

/** Measures messages only during the hold. At other times, forced garbage collections would delay acknowledgements. */
export async function measureMessageWindow(context: RunContext, measured: MessagesMeasured): Promise<void> {
  const { config, measurements, link, control } = context;
  const connected = link.status.connected;
  const before = await link.messages('rest');
  await control.batches();
  await beginGeneratorWindow(context);
  let sent = 0;
  const read = async () => {
    const counts = await link.messages('measure');
    ({ sent } = counts);
    measured.unanswered.push(counts.unanswered);
    measured.skippedByServer.push(counts.skippedByServer);
  };
  await read();
  const first = sent;
  const beganMs = performance.now();
  await measureInParts(context, config.hold, measurements.cpu.messages, async () => {
    const before = sent;
    await read();
    return sent - before;
  });
  const rest = await link.messages('rest');
  measured.seconds = (performance.now() - beganMs) / 1000;
  measured.workers = await control.batches();
  const after = await link.messages('rest');
  // If a connection closed, some of its messages may not have arrived at the server, so the count is a lower limit.
  const atLeast = link.status.connected === connected ? rest.sent - rest.unanswered - first : 0;
  checkHandled(context, measured, { atLeast, atMost: after.sent - before.sent + before.unanswered });
  await endGeneratorWindow(context, 'messages');
}

/**
 * Compares the numbers of sent and handled messages. Code of the server that runs before the handler may duplicate or
 * acknowledge messages.
 */
function checkHandled(
  context: RunContext,
  { steps, workers }: MessagesMeasured,
  { atLeast, atMost }: { atLeast: number; atMost: number },
): void {
  const { config, measurements, signal } = context;
  const isContract = steps.every(
    ({ namespace = config.connection.namespace, event, acknowledge }) =>
      namespace === '/' && event === CONTRACT_EVENTS.eventBatch && acknowledge,
  );
  if (signal.aborted || workers.length === 0 || !isContract) return;
  const handled = workers.reduce((sum, { batches, ownHandler }) => sum + batches + ownHandler, 0);
  if (handled >= atLeast && handled <= atMost) return;
  measurements.observations.note('messagesDiffer', { handled, atLeast, atMost });
}

const POLL_MS = 100;

/** Stops sending, and waits while the number of missing acknowledgements falls. */
export async function endMessageWindow(context: RunContext): Promise<void> {
  const { link, config, measurements, signal } = context;
  const deadlineMs = config.drain.deadline * 1000;
  const progress = new ChangeTimer();
  let unanswered = 0;
  const isOver = async () => {
    ({ unanswered } = await link.messages('stop'));
    return unanswered === 0 || progress.msSinceChange(unanswered) > deadlineMs;
  };
  const ended = await pollUntil(isOver, MAX_DEADLINES * deadlineMs, signal, POLL_MS);
  if (ended || signal.aborted) return;
  measurements.observations.note('acknowledgementsCut', { unanswered });
}

/** The parts of a run that are needed to count copies of events without ids. */
type Context = Pick<RunContext, 'link' | 'measurements' | 'metrics'> & { config: Pick<RunContext['config'], 'counts'> };

/**
 * Starts to count.
 * @returns a function that ends the count and stores the result in the measurements
 */
export async function beginEventCounts(context: Context) {
  const { link, measurements, config } = context;
  const events = config.counts ?? [];
  await link.events();
  const beganMs = performance.now();
  const before = await readCounters(context);
  return {
    async end(): Promise<void> {
      // The server's counters are read while copies are still counted, so that the copies of every counted message are
      // included.
      const now = await readCounters(context);
      const seconds = (performance.now() - beganMs) / 1000;
      const rises = events.flatMap(({ event, counter }) => {
        if (counter === undefined) return [];
        const [first, last] = [before.get(counter), now.get(counter)];
        return [[event, first === undefined || last === undefined || last < first ? null : last - first] as const];
      });
      const fromUsers = events.flatMap(({ event, from }) => (from === undefined ? [] : event));
      const counts = await link.events();
      measurements.eventCounts = { seconds, counts, counters: Object.fromEntries(rises), fromUsers };
    },
  };
}

/** Reads the server's counters, each summed over all metrics pages and labels. Empty if a page does not answer. */
async function readCounters({ config, metrics }: Context): Promise<Map<string, number>> {
  const names = (config.counts ?? []).flatMap(({ counter }) => counter ?? []);
  if (names.length === 0) return new Map();
  const pages = (await metrics.worker?.readEach()) ?? [];
  if (pages.some(({ reading }) => !reading)) return new Map();
  return new Map(
    names.flatMap((name) => {
      const totals = pages.flatMap(({ reading }) => reading?.total?.(name) ?? []);
      return totals.length === 0 ? [] : [[name, totals.reduce((sum, total) => sum + total, 0)] as const];
    }),
  );
}
