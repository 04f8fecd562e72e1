/** A failure that people report in public: a real server or proxy that causes it, and the first finding of a run. */
import type { FindingCode } from '../../../protocol/codes/finding-codes.ts';
import type { Cleaner } from '../raw-listen.ts';

export interface Failure {
  /** What a user sees in a log, and searches for; with its words in backquotes. */
  symptom: string;
  /** What the server, or the proxy before it, does. */
  situation: string;
  /** A public report of it, after `https://github.com/`. */
  report: string;
  /** @returns the target, or the `config` with it and the plugin's options */
  serve(t: Cleaner): Promise<string | Served>;
  flow?: object[];
  engineOptions?: object;
  options?: object;
  phases?: object[];
  /** Whether it fails no expectation: the run passes, and reports it. */
  passes?: true;
  /** The first finding about the server; `TARGET_UNREACHABLE` ends the run before any load. */
  code: FindingCode | 'TARGET_UNREACHABLE';
  about?: 'deployment' | 'application';
  message: RegExp;
  fix?: RegExp;
  /** Why the failure is tested but not on the page: another one there is like it. */
  likeAnother?: true;
}

export interface Served {
  target: string;
  /** Options that name the server's processes. */
  options: object;
  environment?: Record<string, string>;
}

/** Users of a run. */
export const USERS = 10;
/** A flow that only connects. */
export const HOLD = [{ connect: {} }, { hold: true }];

const SAID = { event: 'said', id: '$.0.id', publish: { emit: ['say', { id: '$id' }], every: 0.2, count: 4 } };
/** Options of a run that counts the copies of what its publisher says. */
export const COUNTS_SAID = { delivery: SAID, drain: { quiet: 0.3, deadline: 2 } };

const SIZES = [80, 20, 20, 80];
/** Phases of users who come, leave, and are followed by a rest: different numbers tell a leak of connections from one in time. */
export const WAVES = SIZES.flatMap((size, index) => [
  { duration: 1, arrivalRate: size, rampTo: size },
  { pause: index % 2 === 0 ? 5 : 8 },
]);
