/** Whose limit a run met, by the reasons of its verdict and the causes of failed connections. */
import { failureOf } from '../../protocol/codes/failure-codes.ts';
import { definitionOf } from '../../protocol/codes/verdict-reasons.ts';
import type { Blame } from '../../protocol/documents/search.ts';
import type { Result } from '../../protocol/result/result.ts';
import { sharesMachine } from '../figures/place.ts';
import { counted } from '../text/format.ts';

/** A loop that is this busy opens no more connections. */
const BUSY_LOOP = 0.9;

export interface Blamed {
  /** Of the verdict's reason, or the cause of failed connections. */
  code: string;
  blame: Blame;
  text: string;
}

/** @returns whose limit each reason of the verdict shows, in their order */
export function blamesOf(result: Result): Blamed[] {
  const ofMachine: Blame = sharesMachine(result) ? 'machine' : 'generator';
  const reasons = result.verdict.reasons.map(({ code, message }): Blamed => {
    const blame = blameOf(code, result);
    return { code, blame: blame === 'machine' ? ofMachine : blame, text: `${code}: ${message}` };
  });
  const failures = Object.entries(result.connections.failures).flatMap(([cause, failed]): Blamed[] => {
    const blame = failureOf(cause)?.blame;
    if (!blame) return [];
    const text = `${cause}: ${counted(failed, 'connection')} failed`;
    return [{ code: cause, blame: blame === 'machine' ? ofMachine : blame, text }];
  });
  return [...failures, ...reasons];
}

function blameOf(code: string, { generator, connections, delivery, verdict }: Result): Blame {
  const busy = generator.some(({ window, utilization }) => window === 'ramp' && utilization >= BUSY_LOOP);
  const throttled = verdict.reasons.some(({ code }) => code === 'GENERATOR_THROTTLED');
  if (code === 'RATE_NOT_REACHED' && (busy || throttled)) return 'generator';
  // Copies of others in the same room show nothing of this deployment.
  const { duplicates = 0, late = 0, wrongSize = 0, wrongContent = 0 } = delivery ?? {};
  if (code === 'WRONG_COPIES' && duplicates + late + wrongSize + wrongContent === 0) return 'measurement';
  // Without failures, it is that all fleet processes stopped at the same number.
  if (code === 'LIMIT_REACHED' && !Object.keys(connections.failures).some((cause) => cause.startsWith('http_')))
    return 'generator';
  // Of another version: unknown, so it shows nothing.
  return definitionOf(code)?.blame ?? 'measurement';
}
