/** Compiles the checks of the arguments of an event or acknowledgement: `args`, `match` and `capture`. */
import assert from 'node:assert';
import { z } from 'zod';
import { FlowError } from '../flow-error.ts';
import type { UserOutcome } from '../user-types.ts';
import type { VirtualUser } from '../virtual-user.ts';
import type { StepBuildContext } from './step.ts';

/**
 * Schema of a selector that picks a value from the arguments of an event or acknowledgement. Usually only `json` is
 * given.
 */
const extractor = {
  json: z.string().optional().describe('JSONPath; `$.0` is the first argument. Default: the first argument itself'),
  regexp: z.string().optional().describe('a regular expression on the JSON text, in place of `json`'),
  group: z.union([z.string(), z.number()]).optional().describe('its capture group, by number or name'),
  flags: z.string().optional().describe('its flags'),
  strict: z.boolean().optional().describe('for a `capture`: `false` accepts that nothing is found'),
  multiple: z.boolean().optional().describe('`false` stores the value itself, not the list of all that was found'),
};
const captureSchema = z
  .strictObject({ ...extractor, as: z.string().describe('the variable') })
  .meta({ id: 'Capture', description: 'A value to store in a variable' });
const matchSchema = z
  .strictObject({
    ...extractor,
    value: z
      .union([z.string(), z.number(), z.boolean(), z.null()], { error: 'expected the value to compare with' })
      .describe('what has to be found'),
  })
  .meta({ id: 'Match', description: 'A condition on the arguments' });

const oneOrMany = <S extends z.ZodType>(schema: S) => z.union([schema, z.array(schema)]).optional();

export const answerChecksShape = {
  match: oneOrMany(matchSchema).describe('one condition on the arguments, or a list'),
  capture: oneOrMany(captureSchema).describe('one value to store in a variable, or a list'),
};
export const dataCheckShape = {
  data: z
    .unknown()
    .optional()
    .describe('what the last argument must equal (loosely), or a list for all of them; part of a text is enough'),
  args: z.unknown().optional().describe('the same'),
};

type Spec = { json?: string; regexp?: string };
interface DataSpec {
  data?: unknown;
  args?: unknown;
  concat?: boolean | undefined;
}
interface ChecksSpec {
  match?: Spec | Spec[];
  capture?: Spec | Spec[];
}

export function compileAnswerChecks(spec: ChecksSpec, build: StepBuildContext) {
  const { helpers } = build.shared;
  const matchSpecs = [spec.match ?? []].flat();
  const captureSpecs = [spec.capture ?? []].flat();

  function evaluate(kind: 'match' | 'capture', one: Spec, args: unknown[], user: VirtualUser): UserOutcome {
    // JSONPath expressions select from the argument itself if it is the only one, otherwise from the list of arguments,
    // as in artillery-engine-socketio-v3.
    const whole = one.json === undefined && one.regexp === undefined;
    const body = JSON.stringify(args.length === 1 && !whole && !namesFirst(one, args) ? args[0] : args);
    const params = { [kind]: [whole ? { ...one, json: '$[0]' } : one] };
    let outcome: UserOutcome | null = null;
    let failure: unknown;
    helpers.captureOrMatch(params, { body }, user.context, (error, result) => {
      failure = error;
      outcome = result;
    });
    user.context.vars.$ = body;
    if (failure || !outcome) throw new FlowError(`failed_${kind}`, String(failure));
    return outcome;
  }

  const checks = {
    matches: (args: unknown[], user: VirtualUser): boolean =>
      matchSpecs.every((one) =>
        Object.values(evaluate('match', one, args, user).matches).every(({ success }) => success === true),
      ),
    /**
     * Stores captured values in the virtual user's variables.
     * @throws FlowError `failed_capture`
     */
    capture(args: unknown[], user: VirtualUser): void {
      for (const one of captureSpecs) {
        for (const [name, { value, failed }] of Object.entries(evaluate('capture', one, args, user).captures)) {
          if (failed) throw new FlowError('failed_capture', `nothing to capture as ${name}`);
          user.context.vars[name] = value;
        }
      }
    },
    /**
     * Checks `match`, then stores the values of `capture`.
     * @throws FlowError `failed_match`, `failed_capture`
     */
    verify(args: unknown[], user: VirtualUser): void {
      if (!checks.matches(args, user)) throw new FlowError('failed_match', `got ${JSON.stringify(args)}`);
      checks.capture(args, user);
    },
  };
  return checks;
}

/**
 * Compiles the check of `data`, which works as in Artillery's own engine. The last event, or all received events
 * together, must contain the expected value. A list is compared with all arguments, any other value with the last
 * argument. A text must be part of the last argument; with `concat`, of all arguments joined.
 * @returns undefined if no value is expected
 */
export function compileDataCheck({ data, args = data, concat }: DataSpec, build: StepBuildContext) {
  if (args === undefined) return undefined;
  const dataOf = build.template(data ?? args);
  return (events: unknown[][], user: VirtualUser): boolean => {
    const expected = dataOf(user.context);
    const all = events.flat();
    return contains(concat ? [all.join('')] : (events.at(-1) ?? []), expected) || contains(all, expected);
  };
}

function contains(args: unknown[], expected: unknown): boolean {
  const last = args.at(-1);
  if (typeof expected === 'string' && typeof last === 'string') return last.includes(expected);
  try {
    // The comparison is loose, because templates turn numbers into text.
    assert.deepEqual(Array.isArray(expected) ? args : last, expected);
    return true;
  } catch {
    return false;
  }
}

/**
 * Returns whether the expression selects the first argument. In Artillery's own engine, `$.0` selects it even if it is
 * the only argument.
 */
function namesFirst({ json }: Spec, args: unknown[]): boolean {
  return json !== undefined && /^\$(\.0|\[0\])(?!\d)/.test(json) && !Array.isArray(args[0]);
}
