/** Whose limit a run met, by the reasons of its verdict and the causes of failed connections. */
import { failureOf } from '../../protocol/codes/failure-codes.ts';
import { FINDINGS, type FindingCode } from '../../protocol/codes/finding-codes.ts';
import type { Blame } from '../../protocol/documents/search.ts';
import type { About, Finding } from '../../protocol/result/findings.ts';
import type { Result } from '../../protocol/result/result.ts';
import { fullProcess } from '../figures/limits.ts';
import { sharesMachine } from '../figures/place.ts';
import { counted } from '../text/format.ts';
import { fullWorkers } from './evidence.ts';
import type { Behind } from './keeping-up.ts';

/** A server that says no is not slow, and neither is the generator that hears it. */
const REFUSAL = /^(namespace_refused|join_refused|http_4\d\d)$/;
/** What a slow machine can be the cause of, on either side. */
const TIMED_OUT = /timeout|^ETIMEDOUT$|^http_5\d\d$/;
/** A delay of less than this share of a time-out ends nothing. */
const MIN_TIMEOUT_SHARE = 0.1;
/** The engine's defaults. */
const TIMEOUTS_SECONDS = { connectTimeout: 20, timeout: 10 };

/** Times the longest delay of the generator's loops: one that is late for a moment makes no queue that grows for seconds. */
const MIN_GROWTH = 4;

/** What broke: something was too slow, connections or copies of broadcasts are missing, or a queue grew all the time. */
export type Broken = 'time' | 'connections' | 'copies' | Pick<Behind, 'growthSeconds'>;

/** @param key of a figure @returns what a condition on it tells of */
export function brokenBy(key: string): Broken {
  if (key.startsWith('delivery.')) return 'copies';
  return /^connections\.(?!\w*(Ms|PerSec|Seconds)\b)/.test(key) ? 'connections' : 'time';
}

/** Reasons that tell of missed times, and of nothing lost. */
const OF_TIME = ['RATE_NOT_REACHED', 'BROADCASTS_LATE', 'PROBE_INCOMPLETE'];

/** @param code of the verdict */
export function brokenIn(code: string): Broken {
  return OF_TIME.includes(code) ? 'time' : 'connections';
}

/**
 * Whether the evidence allows that the generator, or the machine that it shares, is the cause. Whatever makes times longer, and
 * no figure but them doubtful, ends a connection only by a time-out: so the delay has to be one that a time-out would notice.
 */
export function couldCause({ code, blame }: Blamed, broken: Broken, result: Result): boolean {
  if (blame !== 'generator' && blame !== 'machine') return false;
  if (typeof broken === 'object') {
    // Whoever else waits for a CPU, they had all that they can use.
    if (fullWorkers(result, ['hold', 'broadcasts'])) return false;
    return blame === 'machine' || broken.growthSeconds * 1000 <= MIN_GROWTH * longestDelayMs(result);
  }
  const { failures, lost } = result.connections;
  const refusals = Object.keys(failures);
  if (broken === 'connections' && refusals.length > 0 && refusals.every((cause) => REFUSAL.test(cause))) return false;
  const found = result.findings.find((one) => one.code === code);
  const onlyDelays = found?.invalidates.every((answer) => answer !== 'run' && answer !== 'connections') ?? false;
  if (broken === 'time' || !onlyDelays) return true;
  // It takes no more connections, however fast both sides are.
  if (broken === 'connections' && fullProcess(result) !== undefined) return false;
  if (longestDelayMs(result) >= shortestTimeoutMs(result) * MIN_TIMEOUT_SHARE) return true;
  // How late the generator itself was is known.
  if (code === 'GENERATOR_LATE') return false;
  const causes = [...refusals, ...Object.keys(lost)];
  return broken === 'copies' || causes.length === 0 || causes.some((cause) => TIMED_OUT.test(cause));
}

/** A finding that neither fails an expectation nor invalidates a figure decides nothing. */
function judges({ code, invalidates }: Finding): boolean {
  return invalidates.length > 0 || FINDINGS[code as FindingCode]?.fails !== undefined;
}

function blameOf(about: About): Blame {
  return about === 'application' ? 'deployment' : about;
}

/** How late the generator's event loops were; unknown with other engines. */
function longestDelayMs({ generator }: Result): number {
  return generator.length === 0 ? Number.POSITIVE_INFINITY : Math.max(...generator.map(({ delayMaxMs }) => delayMaxMs));
}

/** 0 where it is written in a way that only the engine reads. */
function shortestTimeoutMs({ environment: { settings } }: Result): number {
  const given = { ...TIMEOUTS_SECONDS, ...(settings.engineOptions as object | undefined) };
  return Math.min(...[given.connectTimeout, given.timeout].map((one) => 1000 * (Number(one) || 0)));
}

export interface Blamed {
  /** The verdict's reason, or the cause of failed connections. */
  code: string;
  blame: Blame;
  text: string;
}

/** @returns whose limit each reason of the verdict shows, in their order */
export function blamesOf(result: Result): Blamed[] {
  const ofMachine: Blame = sharesMachine(result) ? 'machine' : 'generator';
  const blamed = (code: string, blame: Blame, text: string): Blamed => ({
    ...{ code, blame: blame === 'machine' ? ofMachine : blame, text },
  });
  const failures = Object.entries(result.connections.failures).flatMap(([cause, failed]) => {
    const blame = failureOf(cause)?.blame;
    return blame ? [blamed(cause, blame, `${cause}: ${counted(failed, 'connection')} failed`)] : [];
  });
  const reasons = result.findings
    .filter(judges)
    .map(({ code, about, message }) => blamed(code, blameOf(about), `${code}: ${message}`));
  return [...failures, ...reasons];
}
