/** A reading is a value or an absence. Only this file names the reasons of absences, and what each of them means. */
import { monotonicUs } from '../../protocol/base/clock/clock.ts';
import { describeError } from '../../protocol/codes/errors.ts';

/**
 * `refused`: the source answers, and this run may not read it. `gone`: it says that it is no longer there. `unanswered`: it says
 * nothing, or that it cannot answer now. `unsupported`: its answer has no such figure.
 */
export type AbsenceReason = 'refused' | 'gone' | 'unanswered' | 'unsupported';

export interface Absence {
  reason: AbsenceReason;
  /** Status, error code or words of the source. */
  detail: string;
  /** First reading that failed, on the monotonic clock; undefined for a source that has never answered. */
  sinceUs: number | undefined;
  fix: string;
}

/** Statuses of HTTP, error codes of the system, of this project and of Redis. Any other failure is `unsupported`. */
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

/** An absence that is known where it happens. */
export class Absent extends Error {
  readonly reason: AbsenceReason;
  readonly known: Partial<Absence>;

  /** @param known time and fix, if the source has its own */
  constructor(reason: AbsenceReason, message: string, known: Partial<Absence> = {}) {
    super(message);
    this.reason = reason;
    this.known = known;
  }
}

/** A source that the run does not have: another source of the same figure has a better reason. */
export class NotInRun extends Absent {
  constructor(message: string) {
    super('unsupported', message);
  }
}

export function reasonOf(error: unknown): AbsenceReason {
  if (error instanceof Absent) return error.reason;
  if ((error as Error | undefined)?.name === 'TimeoutError') return 'unanswered';
  const code = codeOf(error);
  return REASONS[code] ?? (UNANSWERED.test(code) ? 'unanswered' : 'unsupported');
}

/** @param error the reason why a source gave no value */
export function absenceOf(error: unknown): Absence {
  const reason = reasonOf(error);
  const { sinceUs, fix = FIXES[reason] } = error instanceof Absent ? error.known : {};
  return { reason, detail: describeError(error).split('\n')[0] as string, sinceUs, fix };
}

/** @returns `HTTP 403`, `ECONNREFUSED`, `NOPERM` and the like; empty for an error without a code */
export function codeOf(error: unknown): string {
  const { code, cause, message = '' } = (error ?? {}) as Error & { code?: unknown };
  if (typeof code === 'string') return code;
  // Redis and HTTP put the code first.
  const first = /^(HTTP \d{3}|[A-Z]{4,})\b/.exec(message)?.[1];
  return first ?? (cause ? codeOf(cause) : '');
}

/** History of one source's answers. */
export class Availability {
  /** Undefined while the source answers. */
  absence: Absence | undefined;
  #hasAnswered = false;

  succeed(): void {
    this.#hasAnswered = true;
    this.absence = undefined;
  }

  /** @param detail default: the message of the error @param fix default: that of the reason */
  fail(error: unknown, detail = (error as Error).message, fix?: string): Absence {
    const reason = reasonOf(error);
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

/** @param source its name @param beganAtUs zero of the run's time; without it, the text has no time */
export function describeAbsence(
  source: string,
  { reason, detail, sinceUs }: Pick<Absence, 'reason' | 'detail' | 'sinceUs'>,
  beganAtUs?: number,
): string {
  const [never, later] = WORDS[reason];
  if (sinceUs === undefined) return `${source} ${never}: ${detail}`;
  const seconds = beganAtUs === undefined ? undefined : Math.max(0, sinceUs - beganAtUs) / 1e6;
  return `${source} ${later}${seconds === undefined ? '' : ` since ${seconds.toFixed(1)} s`}: ${detail}`;
}
