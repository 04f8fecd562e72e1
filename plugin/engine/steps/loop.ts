import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import { FlowError } from '../flow-error.ts';
import { isTemplate } from '../template.ts';
import { runSteps, type VirtualUser } from '../virtual-user.ts';
import { defineStep } from './step.ts';

/** Iterations without a pause; a loop of nothing but emits must leave the event loop to others. */
const TURN = 16;

const schema = z.strictObject({
  loop: z.array(z.unknown(), { error: 'expected a list of steps' }).min(1, { error: 'expected at least one step' }),
  count: z.union([z.int(), z.string()], { error: 'expected a number, or a range such as "1-15"' }).optional(),
  over: z.union([z.array(z.unknown()), z.string()], { error: 'expected a list, or the name of a variable' }).optional(),
  whileTrue: z.string().optional(),
  loopValue: z.string().default('$loopCount'),
  loopElement: z.string().default('$loopElement'),
});

type While = (context: unknown, done: (goOn: boolean) => void) => unknown;

/** `loop: [steps]` with `count` (a number, a range "1-15", -1 for ever), `over` (a list) or `whileTrue` (a function). */
export const loop = defineStep({
  schema,
  childrenKey: 'loop',
  functionKeys: ['whileTrue'],
  staySeconds(spec, childSeconds) {
    const times = rounds(spec);
    return times === 0 || times === Number.POSITIVE_INFINITY ? times : times * childSeconds;
  },
  compile(spec, build) {
    const steps = build.steps(spec.loop);
    const countOf = build.template(spec.count ?? -1);
    const { processor } = build.engine;

    return async (user) => {
      const { vars } = user.context;
      const elements = spec.over === undefined ? undefined : elementsOf(spec.over, user);
      const { from, to } = parseCount(countOf(user.context));
      for (let index = from; ; index++) {
        if (spec.whileTrue === undefined && index >= (elements?.length ?? to)) return;
        vars[spec.loopValue] = index;
        // A loop that only counts leaves the element of the loop around it alone.
        if (elements) vars[spec.loopElement] = elements[index];
        await runSteps(steps, user);
        if (spec.whileTrue !== undefined && !(await asked(processor[spec.whileTrue] as While, user))) return;
        if (index % TURN === TURN - 1) await nextTurn();
      }
    };
  },
});

/** @returns how often it goes around; infinite where the script does not say */
function rounds({ count, over, whileTrue }: z.output<typeof schema>): number {
  if (whileTrue !== undefined) return Number.POSITIVE_INFINITY;
  if (over !== undefined) return Array.isArray(over) ? over.length : Number.POSITIVE_INFINITY;
  if (count === undefined || isTemplate(count)) return Number.POSITIVE_INFINITY;
  const { from, to } = parseCount(count);
  return Math.max(0, to - from);
}

/** `over` goes through all of the list; `count` beside it is not looked at. */
function elementsOf(over: unknown[] | string, user: VirtualUser): unknown[] {
  if (typeof over !== 'string') return over;
  let value: unknown = user.context.vars;
  for (const key of over.split('.')) value = (value as Record<string, unknown> | undefined)?.[key];
  return Array.isArray(value) ? value : [];
}

/** Asked after each round, so that the steps run at least once. */
function asked(goesOn: While, user: VirtualUser): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const returned = goesOn(user.context, resolve);
    if (returned instanceof Promise) returned.then((value) => resolve(Boolean(value)), reject);
  });
}

/** @throws FlowError `invalid_count` */
function parseCount(count: unknown): { from: number; to: number } {
  const [, from, to] = /^\s*(\d+)\s*-\s*(\d+)\s*$/.exec(String(count)) ?? [];
  if (from !== undefined) return { from: Number(from), to: Number(to) };
  const times = Number(count);
  if (!Number.isFinite(times)) throw new FlowError('invalid_count', `loop count ${count} is no number`);
  return { from: 0, to: times < 0 ? Number.POSITIVE_INFINITY : times };
}
