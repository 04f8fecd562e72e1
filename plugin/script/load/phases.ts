/**
 * Validates the phases of a scenario and changes their size. Artillery validates phases only after its workers have
 * started.
 */
import { z } from 'zod';
import type { ScriptRewrite } from '../../../protocol/base/problems.ts';
import { durationSchema } from '../duration.ts';
import type { Environment } from '../options/plugin-options.ts';
import type { ScriptPhase } from '../script.ts';

const seconds = durationSchema.pipe(z.number().positive('must be longer than 0')).transform((ms) => ms / 1000);
const amount = z.coerce.number('expected a number').nonnegative('expected a number of at least 0');
const whole = amount.int('expected a whole number');

/** Schema of a phase in Artillery's script. Artillery adds the last two properties in a worker. */
const phaseShape = z.strictObject({
  duration: seconds.optional(),
  pause: seconds.optional(),
  arrivalRate: amount.optional(),
  rampTo: amount.optional(),
  arrivalCount: whole.optional(),
  maxVusers: whole.optional(),
  ...{ name: z.string().optional(), mode: z.string().optional() },
  ...{ worker: z.number().optional(), totalWorkers: z.number().optional() },
});

/** A phase of Artillery's `config.phases`, with times in seconds. */
export type Phase = z.output<typeof phaseShape>;

const inList =
  (change: (phase: object) => object): ScriptRewrite =>
  (phases, index) => ({ owner: Object.values(phases).with(Number(index), change(phases[index] as object)) });

const phaseSchema = phaseShape.superRefine((phase, context) => {
  const problem = (message: string, change?: (phase: object) => object) =>
    context.addIssue({ code: 'custom', message, ...(change && { params: { rewrite: inList(change) } }) });
  const { duration, pause, arrivalRate, rampTo, arrivalCount } = phase;
  if (pause !== undefined) return;
  if (duration === undefined) return problem('a phase needs a `duration` or a `pause`');
  if (arrivalRate === undefined && rampTo === undefined && arrivalCount === undefined) {
    return problem('a phase needs an `arrivalRate`, a `rampTo` or an `arrivalCount`');
  }
  if (!arrivalRate && !rampTo && !arrivalCount) {
    return problem('Artillery skips a phase without arrivals; use `pause` instead of `duration`', () => ({
      pause: duration,
    }));
  }
  if (rampTo === undefined && arrivalRate !== undefined && !Number.isInteger(arrivalRate)) {
    problem(
      'Artillery accepts a fractional arrivalRate only with a `rampTo`; add one with the same value',
      (given) => ({
        ...given,
        rampTo: arrivalRate,
      }),
    );
  }
});

export const phasesSchema = z
  .array(phaseSchema)
  .refine((phases) => totalArrivals(phases) > 0, 'no phase creates virtual users');

/** Returns the number of arrivals in a phase; 0 for a pause. */
export function arrivalsOf({ duration = 0, pause, arrivalRate = 0, rampTo, arrivalCount }: Phase): number {
  if (pause !== undefined) return 0;
  if (rampTo !== undefined) return rampArrivals(duration, arrivalRate, rampTo);
  if (arrivalRate > 0) return Math.round(arrivalRate * duration);
  return arrivalCount ?? 0;
}

/** Returns the number of arrivals in a ramp. Artillery rounds the arrivals of each second, for all workers together. */
function rampArrivals(duration: number, arrivalRate: number, rampTo: number): number {
  if (duration === 1) return Math.round((arrivalRate + rampTo) / 2);
  const perSecond = (rampTo - arrivalRate) / (duration - 1);
  let arrivals = 0;
  for (let second = 0; second < duration; second++) arrivals += Math.round(arrivalRate + perSecond * second);
  return arrivals;
}

export function totalArrivals(phases: Phase[]): number {
  return phases.reduce((total, phase) => total + arrivalsOf(phase), 0);
}

export function totalSeconds(phases: Phase[]): number {
  return phases.reduce((total, { duration, pause }) => total + (pause ?? duration ?? 0), 0);
}

/** Parses a worker's share of the phases. Invalid phases are left out, because Artillery reports them. */
export function phasesOfShare(phases: ScriptPhase[]): Phase[] {
  return phases.flatMap((phase) => phaseShape.strip().safeParse(phase).data ?? []);
}

/**
 * Returns an upper bound of the arrivals in a worker's share of a phase. Artillery rounds the arrivals of the whole
 * phase before it divides them.
 */
export function maxArrivalsOf(phase: Phase): number {
  const { duration = 0, rampTo } = phase;
  return arrivalsOf(phase) + (rampTo === undefined ? 0 : Math.ceil(duration));
}

/**
 * Returns a ramp with exactly the given number of arrivals, at about the given rate (docs/method.md#rate). The ramp
 * lasts whole seconds. Artillery rounds the arrivals of each second; with this ramp, all seconds have the same number,
 * or the last seconds have one more. The ramp lasts at least two seconds, because Artillery spaces the arrivals of a
 * single second by 1 ms.
 */
export function exactRamp(
  arrivals: number,
  ratePerSec: number,
): Required<Pick<Phase, 'duration' | 'arrivalRate' | 'rampTo'>> {
  // Subtracting 1e-9 compensates rounding errors: 100 arrivals at 100 ÷ 3 per second take 3 seconds, not 4.
  const duration = Math.max(2, Math.ceil(arrivals / ratePerSec - 1e-9));
  const fewer = Math.floor(arrivals / duration);
  const seconds = arrivals - fewer * duration;
  if (seconds === 0) return { duration, arrivalRate: fewer, rampTo: fewer };
  // Artillery rounds the rate of each second: a second has one more arrival once the rate exceeds `fewer + 0.5`.
  const arrivalRate = fewer + 0.5 - (duration - seconds - 0.5) / (duration - 1);
  return { duration, arrivalRate, rampTo: arrivalRate + 1 };
}

/** Applies the environment variables `CONNECTIONS`, `DURATION` and `RATE` to the phases. */
export function resizedPhases(phases: Phase[], variables: Environment): Phase[] {
  const { CONNECTIONS, DURATION, RATE } = variables;
  const largest = Math.max(...phases.map(arrivalsOf));
  return phases.map((phase) => {
    const isResized = CONNECTIONS === undefined && DURATION !== undefined && phase.pause === undefined;
    const sized = isResized ? { ...phase, duration: Math.ceil(DURATION / 1000) } : phase;
    const arrivals = arrivalsOf(sized);
    if (arrivals === 0 || (CONNECTIONS ?? RATE) === undefined) return sized;
    const sizeOf = (whole: number) => Math.max(1, Math.round((whole * (CONNECTIONS ?? largest)) / largest));
    const { arrivalCount: _, ...kept } = sized;
    return { ...kept, ...exactRamp(sizeOf(arrivals), RATE ?? arrivals / (sized.duration ?? 1)) };
  });
}
