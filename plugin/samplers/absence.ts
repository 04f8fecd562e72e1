/** Reasons why a figure could not be read, with texts and suggested fixes. */
import { monotonicUs } from '../../protocol/base/clock/clock.ts';
import { describeError } from '../../protocol/codes/errors.ts';

/**
 * `refused`: the run may not read the source. `gone`: the source no longer exists. `unanswered`: the source does not
 * answer, or reports that it cannot answer now. `unsupported`: the source's answer does not contain the figure.
 */
type AbsenceReason = 'refused' | 'gone' | 'unanswered' | 'unsupported';

export interface SourceAbsence {
  reason: AbsenceReason;
  detail: string;
  /** Time of the first failed reading, on CLOCK_MONOTONIC. Undefined for a source that has never answered. */
  sinceUs: number | undefined;
  fix: string;
}

/**
 * Reasons by HTTP status and by error codes of the operating system, this project and Redis. Errors with other codes
 * count as `unsupported`.
 */
const REASONS: Record<string, AbsenceReason> = {
  ...Object.fromEntries(['EACCES', 'EPERM', 'HTTP 401', 'HTTP 403', 'HTTP 407'].map((code) => [code, 'refused'])),
  ...Object.fromEntries(['BAD_TOKEN', 'NOPERM', 'NOAUTH', 'WRONGPASS'].map((code) => [code, 'refused'])),
  ...Object.fromEntries(['ENOENT', 'ESRCH', 'HTTP 404', 'HTTP 410'].map((code) => [code, 'gone'])),
  ...Object.fromEntries(['LOADING', 'MASTERDOWN', 'BUSY', 'CLUSTERDOWN'].map((code) => [code, 'unanswered'])),
};
const UNANSWERED = /^(E[A-Z]{3,}|UND_ERR_\w+|HTTP (429|5\d\d)|SOURCE_UNREACHABLE|CONTROL_TIMEOUT)$/;

const FIXES: Record<AbsenceReason, string> = {
  refused: 'let the run read it until its end: correct the token or the access rule, also of a proxy in between',
  gone: 'leave the source in place until the end of the run',
  unanswered: 'see the log of the program that answers there; it must answer during the whole run',
  unsupported: 'let the source report the figure during the whole run',
};

export class SourceAbsentError extends Error {
  readonly reason: AbsenceReason;
  readonly known: Partial<SourceAbsence>;

  /** @param known time of the first failed reading and suggested fix, if they differ from the default for the reason */
  constructor(reason: AbsenceReason, message: string, known: Partial<SourceAbsence> = {}) {
    super(message);
    this.reason = reason;
    this.known = known;
  }
}

/**
 * Error for a source that this run does not have. If another source of the same figure fails, the run reports that
 * source's reason.
 */
export class NotInRunError extends SourceAbsentError {
  constructor(message: string) {
    super('unsupported', message);
  }
}

export function absenceReasonOf(error: unknown): AbsenceReason {
  if (error instanceof SourceAbsentError) return error.reason;
  if ((error as Error | undefined)?.name === 'TimeoutError') return 'unanswered';
  const code = errorCodeOf(error);
  return REASONS[code] ?? (UNANSWERED.test(code) ? 'unanswered' : 'unsupported');
}

/**
 * Describes why a source gave no value.
 * @param error error of the source
 */
export function absenceOf(error: unknown): SourceAbsence {
  const reason = absenceReasonOf(error);
  const { sinceUs, fix = FIXES[reason] } = error instanceof SourceAbsentError ? error.known : {};
  return { reason, detail: describeError(error).split('\n')[0] as string, sinceUs, fix };
}

/** Returns an error's code such as `HTTP 403`, `ECONNREFUSED` or `NOPERM`; empty for an error without a code. */
export function errorCodeOf(error: unknown): string {
  const { code, cause, message = '' } = (error ?? {}) as Error & { code?: unknown };
  if (typeof code === 'string') return code;
  // Messages of Redis and HTTP begin with the code.
  const first = /^(HTTP \d{3}|[A-Z]{4,})\b/.exec(message)?.[1];
  return first ?? (cause ? errorCodeOf(cause) : '');
}

/** Tracks whether a source answers, and since when it does not. */
export class SourceAvailability {
  absence: SourceAbsence | undefined;
  #hasAnswered = false;

  succeed(): void {
    this.#hasAnswered = true;
    this.absence = undefined;
  }

  /**
   * Records a failed reading.
   * @param detail text about the failure; by default the error's message
   * @param fix suggested fix; by default the fix for the reason
   */
  fail(error: unknown, detail = (error as Error).message, fix?: string): SourceAbsence {
    const reason = absenceReasonOf(error);
    const sinceUs = this.absence ? this.absence.sinceUs : this.#hasAnswered ? monotonicUs() : undefined;
    this.absence = { reason, detail, sinceUs, fix: fix ?? FIXES[reason] };
    return this.absence;
  }
}

const WORDS: Record<AbsenceReason, [never: string, later: string]> = {
  refused: ['may not be read', 'may not be read'],
  gone: ['is not there', 'is no longer there'],
  unanswered: ['never answered', 'did not answer'],
  unsupported: ['has no usable figures', 'has no usable figures'],
};

/**
 * Returns a text about a source that could not be read.
 * @param source name of the source
 * @param beganAtUs start of the run's time axis; without it, the text contains no time
 */
export function describeAbsence(
  source: string,
  { reason, detail, sinceUs }: Pick<SourceAbsence, 'reason' | 'detail' | 'sinceUs'>,
  beganAtUs?: number,
): string {
  const [never, later] = WORDS[reason];
  if (sinceUs === undefined) return `${source} ${never}: ${detail}`;
  const seconds = absentSinceSeconds({ sinceUs }, beganAtUs);
  return `${source} ${later}${seconds === undefined ? '' : ` since ${seconds.toFixed(1)} s`}: ${detail}`;
}

/**
 * Returns the seconds from the start of the run's time axis to the first failed reading; undefined if either time is
 * unknown.
 */
export function absentSinceSeconds(
  { sinceUs }: Pick<SourceAbsence, 'sinceUs'>,
  beganAtUs: number | undefined,
): number | undefined {
  return sinceUs === undefined || beganAtUs === undefined ? undefined : Math.max(0, sinceUs - beganAtUs) / 1e6;
}
