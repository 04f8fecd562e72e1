/**
 * A failure that people report in public: a real server or proxy that causes it, and the expected first finding of a
 * run.
 */
import type { FindingCode } from '../../../protocol/codes/finding-codes.ts';
import type { Cleaner } from '../raw-listen.ts';

export interface Failure {
  /** Symptom in a log that a user searches for. Its text is in backticks. */
  symptom: string;
  /** Behaviour of the server or of the proxy in front of it. */
  situation: string;
  /** Public report of the failure, without `https://github.com/`. */
  report: string;
  /** @returns the target, or a `config` with the target and options of the plugin */
  serve(t: Cleaner): Promise<string | Served>;
  flow?: object[];
  engineOptions?: object;
  options?: object;
  phases?: object[];
  /** Whether the run passes and only reports the finding. */
  passes?: true;
  /** Code of the first finding about the server. `TARGET_UNREACHABLE` ends the run before the load. */
  code: FindingCode | 'TARGET_UNREACHABLE';
  about?: 'deployment' | 'application';
  message: RegExp;
  fix?: RegExp;
  /** Whether the page omits the failure because it has a similar one. */
  likeAnother?: true;
}

export interface Served {
  target: string;
  /** Options of the plugin that name the processes of the server. */
  options: object;
  environment?: Record<string, string>;
}

/** Number of virtual users in a run. */
export const USERS = 10;
/** Flow that only connects. */
export const HOLD = [{ connect: {} }, { hold: true }];

const SAID = { event: 'said', id: '$.0.id', publish: { emit: ['say', { id: '$id' }], every: 0.2, count: 4 } };
/** Options of a run that counts the copies of its publisher's messages. */
export const COUNTS_SAID = { delivery: SAID, drain: { quiet: 0.3, deadline: 2 } };

const SIZES = [80, 20, 20, 80];
/**
 * Phases in which users connect and disconnect, each followed by a rest. The numbers of users differ, so that growth
 * per connection and growth over time can be separated.
 */
export const WAVES = SIZES.flatMap((size, index) => [
  { duration: 1, arrivalRate: size, rampTo: size },
  { pause: index % 2 === 0 ? 5 : 8 },
]);
