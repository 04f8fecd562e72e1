/** What is read at a standstill can be a little behind the generator: it has some time to agree. */
import { setTimeout as delay } from 'node:timers/promises';
import type { RunContext } from '../context.ts';
import type { WarningsOnce } from './warnings.ts';

const AGREE_TIMEOUT_MS = 3000;
const POLL_MS = 200;

/**
 * Warns of WORKERS_DISAGREE if it does not agree in time.
 * @param read what is wrong now; undefined if nothing is, or nobody can tell
 */
export async function expectAgreement(
  { signal }: Pick<RunContext, 'signal'>,
  warnings: WarningsOnce,
  read: () => Promise<{ message: string; fix: string } | undefined>,
): Promise<void> {
  const deadlineMs = performance.now() + AGREE_TIMEOUT_MS;
  for (;;) {
    const disagreement = await read();
    if (disagreement === undefined || signal.aborted || warnings.has('WORKERS_DISAGREE')) return;
    if (performance.now() > deadlineMs) {
      warnings.warn('WORKERS_DISAGREE', disagreement.message, disagreement.fix);
      return;
    }
    await delay(POLL_MS);
  }
}
