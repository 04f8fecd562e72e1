/** A failure that people report in public: a real server or proxy that causes it, and the first finding of a run. */
import type { FindingCode } from '../../../protocol/codes/finding-codes.ts';
import type { Cleaner } from '../raw-listen.ts';

export interface Failure {
  /** Symptom that a user sees in a log and searches for; its text in backquotes. */
  symptom: string;
  /** Behaviour of the server, or of the proxy before it. */
  situation: string;
  /** A public report of the failure, after `https://github.com/`. */
  report: string;
  /** @returns the target, or the `config` with it and the plugin's options */
  serve(t: Cleaner): Promise<string | Served>;
  flow?: object[];
  engineOptions?: object;
  options?: object;
  phases?: object[];
  /** True if no expectation fails: the run passes, and reports the finding. */
  passes?: true;
  /** First finding about the server; `TARGET_UNREACHABLE` ends the run before any load. */
  code: FindingCode | 'TARGET_UNREACHABLE';
  about?: 'deployment' | 'application';
  message: RegExp;
  fix?: RegExp;
  /** True if the failure is tested but not on the page, because the page has a similar one. */
  likeAnother?: true;
}

export interface Served {
  target: string;
  /** Options with the server's processes. */
  options: object;
  environment?: Record<string, string>;
}

/** Users of a run. */
export const USERS = 10;
/** A flow that only connects. */
export const HOLD = [{ connect: {} }, { hold: true }];

const SAID = { event: 'said', id: '$.0.id', publish: { emit: ['say', { id: '$id' }], every: 0.2, count: 4 } };
/** Options of a run that counts the copies of its publisher's messages. */
export const COUNTS_SAID = { delivery: SAID, drain: { quiet: 0.3, deadline: 2 } };

const SIZES = [80, 20, 20, 80];
/**
 * Phases of users who connect and disconnect, each followed by a rest: different numbers tell a leak of connections
 * from a leak with time.
 */
export const WAVES = SIZES.flatMap((size, index) => [
  { duration: 1, arrivalRate: size, rampTo: size },
  { pause: index % 2 === 0 ? 5 : 8 },
]);
