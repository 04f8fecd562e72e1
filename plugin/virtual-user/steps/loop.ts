import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import type { ScriptRewrite } from '../../../protocol/base/problems.ts';
import { isTemplate } from '../../script/is-template.ts';
import { FlowError } from '../flow-error.ts';
import { runSteps, type VirtualUser } from '../virtual-user.ts';
import { defineStep } from './step.ts';

/**
 * Number of iterations after which a loop yields to Node's event loop. A loop that only emits would otherwise block the
 * event loop.
 */
const ITERATIONS_PER_TURN = 16;

const variableIn = (text: unknown) => /^\s*\{\{\s*([$\w.]+)\s*\}\}\s*$/.exec(String(text))?.[1];
const withoutBraces: ScriptRewrite = (owner, key) => {
  const over = variableIn(owner[key]);
  return over === undefined ? undefined : { owner: { ...owner, over } };
};

/** Schema of a variable's name. Refuses a template, because the loop would have no iterations. */
const variableSchema = z.string().refine((name) => !isTemplate(name), {
  error: ({ input }) => `write the name of the variable alone: over: ${variableIn(input) ?? '<variable>'}`,
  params: { rewrite: withoutBraces },
});

const schema = z.strictObject({
  loop: z
    .array(z.unknown(), { error: 'expected a list of steps; write `count` beside `loop`' })
    .min(1, { error: 'expected at least one step' })
    .describe('repeats steps'),
  count: z
    .union([z.int(), z.string().refine((text) => isTemplate(text) || countIn(text) !== undefined)], {
      error: 'expected a number, or a range such as "1-15"',
    })
    .optional()
    .describe('a number, a range such as `1-15`, or `-1`, the default: without end'),
  over: z
    .union([z.array(z.unknown()), variableSchema], { error: 'expected a list, or the name of a variable' })
    .optional()
    .describe('a list, or the name of a variable with one; `count` is then ignored'),
  whileTrue: z.string().optional().describe('function `(context, done)`, or async, called after each iteration'),
  loopValue: z.string().default('$loopCount').describe('variable for the iteration’s number'),
  loopElement: z.string().default('$loopElement').describe('variable for the element'),
});

type While = (context: unknown, done: (again: boolean) => void) => unknown;

/**
 * `loop: [steps]`: repeats the steps. `count` is a number, a range such as "1-15", or -1 for no limit. `over` is a
 * list. `whileTrue` names a function.
 */
export const loopStep = defineStep({
  schema,
  childrenKey: 'loop',
  functionKeys: ['whileTrue'],
  staySeconds(spec, childSeconds) {
    const times = iterations(spec);
    return times === 0 || times === Number.POSITIVE_INFINITY ? times : times * childSeconds;
  },
  compile(spec, build) {
    const steps = build.steps(spec.loop);
    const countOf = build.template(spec.count ?? -1);
    const { processor } = build.shared;

    return async (user) => {
      const { vars } = user.context;
      const elements = spec.over === undefined ? undefined : elementsOf(spec.over, user);
      const { from, to } = parseCount(countOf(user.context));
      for (let index = from; ; index++) {
        if (spec.whileTrue === undefined && index >= (elements?.length ?? to)) return;
        vars[spec.loopValue] = index;
        // A loop without a list keeps the current element of an outer loop.
        if (elements) vars[spec.loopElement] = elements[index];
        await runSteps(steps, user);
        if (spec.whileTrue !== undefined && !(await continues(processor[spec.whileTrue] as While, user))) return;
        if (index % ITERATIONS_PER_TURN === ITERATIONS_PER_TURN - 1) await nextTurn();
      }
    };
  },
});

/** Returns the number of iterations of the loop; infinite if the script sets no limit. */
function iterations({ count, over, whileTrue }: z.output<typeof schema>): number {
  if (whileTrue !== undefined) return Number.POSITIVE_INFINITY;
  if (over !== undefined) return Array.isArray(over) ? over.length : Number.POSITIVE_INFINITY;
  if (count === undefined || isTemplate(count)) return Number.POSITIVE_INFINITY;
  const { from, to } = parseCount(count);
  return Math.max(0, to - from);
}

/** Returns the elements of the list `over`. The whole list is used, even if there is a `count`. */
function elementsOf(over: unknown[] | string, user: VirtualUser): unknown[] {
  if (typeof over !== 'string') return over;
  let value: unknown = user.context.vars;
  for (const key of over.split('.')) value = (value as Record<string, unknown> | undefined)?.[key];
  return Array.isArray(value) ? value : [];
}

/** Calls the function `whileTrue` after an iteration, so the steps run at least once. */
function continues(condition: While, user: VirtualUser): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const returned = condition(user.context, resolve);
    if (returned instanceof Promise) returned.then((value) => resolve(Boolean(value)), reject);
  });
}

/**
 * Parses `count`.
 * @throws FlowError `invalid_template`
 */
function parseCount(count: unknown): { from: number; to: number } {
  const found = countIn(count);
  if (!found) throw new FlowError('invalid_template', `loop count ${count} is not a number`);
  return found;
}

function countIn(count: unknown): { from: number; to: number } | undefined {
  const [, from, to] = /^\s*(\d+)\s*-\s*(\d+)\s*$/.exec(String(count)) ?? [];
  if (from !== undefined) return { from: Number(from), to: Number(to) };
  const times = Number(count);
  if (!Number.isFinite(times)) return undefined;
  return { from: 0, to: times < 0 ? Number.POSITIVE_INFINITY : times };
}
