/** Checks on the arguments of an event or acknowledgement: `args`, `match`, `capture`. */
import assert from 'node:assert';
import { z } from 'zod';
import { FlowError } from '../flow-error.ts';
import type { Outcome } from '../types.ts';
import type { VirtualUser } from '../virtual-user.ts';
import type { Build } from './step.ts';

/** How to select a value in the answer; usually with `json` alone. */
const extractor = {
  json: z.string().optional().describe('JSONPath; `$.0` is the first argument. Default: the first argument itself'),
  regexp: z.string().optional().describe('a regular expression on the JSON text, in place of `json`'),
  group: z.union([z.string(), z.number()]).optional().describe('its capture group, by number or name'),
  flags: z.string().optional().describe('its flags'),
  strict: z.boolean().optional().describe('of a `capture`: with `false`, finding nothing is no failure'),
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

export const checksShape = {
  match: oneOrMany(matchSchema).describe('one condition on the arguments, or a list'),
  capture: oneOrMany(captureSchema).describe('one value to store in a variable, or a list'),
};
/** `args` is compared as a whole, as in artillery-engine-socketio-v3; of a text in `data`, as in Artillery, a part is enough. */
export const argsShape = {
  args: z.unknown().optional().describe('what the arguments must equal (loosely), or else the first one'),
  data: z.unknown().optional().describe('what the last argument must equal; of a text, a part is enough'),
};

type Spec = { json?: string; regexp?: string };
interface ChecksSpec {
  args?: unknown;
  data?: unknown;
  match?: Spec | Spec[];
  capture?: Spec | Spec[];
}

export interface Checks {
  matches(args: unknown[], user: VirtualUser): boolean;
  /** Stores the captured values in the virtual user's variables. @throws FlowError `failed_capture` */
  capture(args: unknown[], user: VirtualUser): void;
  /** Checks and captures everything. @throws FlowError `data_not_valid`, `failed_match`, `failed_capture` */
  verify(args: unknown[], user: VirtualUser): void;
}

export function compileChecks(spec: ChecksSpec, build: Build): Checks {
  const { helpers } = build.shared;
  const expectedArgs = build.template(spec.args);
  const hasData = compileData(spec, build);
  const matchSpecs = [spec.match ?? []].flat();
  const captureSpecs = [spec.capture ?? []].flat();

  function evaluate(kind: 'match' | 'capture', one: Spec, args: unknown[], user: VirtualUser): Outcome {
    // Like artillery-engine-socketio-v3: a single argument is the body itself, several are a list. Without an expression
    // the check applies to the first argument.
    const whole = one.json === undefined && one.regexp === undefined;
    const body = JSON.stringify(args.length === 1 && !whole && !namesFirst(one, args) ? args[0] : args);
    const params = { [kind]: [whole ? { ...one, json: '$[0]' } : one] };
    let outcome: Outcome | null = null;
    let failure: unknown;
    helpers.captureOrMatch(params, { body }, user.context, (error, result) => {
      failure = error;
      outcome = result;
    });
    user.context.vars.$ = body;
    if (failure || !outcome) throw new FlowError(`failed_${kind}`, String(failure));
    return outcome;
  }

  const checks: Checks = {
    matches: (args, user) =>
      matchSpecs.every((one) =>
        Object.values(evaluate('match', one, args, user).matches).every(({ success }) => success === true),
      ),
    capture(args, user) {
      for (const one of captureSpecs) {
        for (const [name, { value, failed }] of Object.entries(evaluate('capture', one, args, user).captures)) {
          if (failed) throw new FlowError('failed_capture', `nothing to capture as ${name}`);
          user.context.vars[name] = value;
        }
      }
    },
    verify(args, user) {
      const isExpected = (spec.args === undefined || equal(args, expectedArgs(user.context))) && hasData([args], user);
      if (!isExpected) throw new FlowError('data_not_valid', `got ${JSON.stringify(args)}`);
      if (!checks.matches(args, user)) throw new FlowError('failed_match', `got ${JSON.stringify(args)}`);
      checks.capture(args, user);
    },
  };
  return checks;
}

/** Loose equality, since templates turn numbers into text. A list is compared with all arguments, else with the first. */
function equal(args: unknown[], expected: unknown): boolean {
  try {
    assert.deepEqual(Array.isArray(expected) ? args : args[0], expected);
    return true;
  } catch {
    return false;
  }
}

/**
 * As in Artillery's own engine: `data` is looked for in the last event and in all of them together. A list is compared
 * with all arguments, anything else with the last one, in which a text only has to be contained; with `concat`, in the
 * text of all arguments.
 */
export function compileData(
  { data, concat }: { data?: unknown; concat?: boolean },
  build: Build,
): (events: unknown[][], user: VirtualUser) => boolean {
  const dataOf = build.template(data);
  return (events, user) => {
    if (data === undefined) return true;
    const expected = dataOf(user.context);
    const all = events.flat();
    return contains(concat ? [all.join('')] : (events.at(-1) ?? []), expected) || contains(all, expected);
  };
}

function contains(args: unknown[], expected: unknown): boolean {
  const last = args.at(-1);
  if (typeof expected === 'string' && typeof last === 'string') return last.includes(expected);
  return equal(Array.isArray(expected) ? args : [last], expected);
}

/** In Artillery's own engine `$.0` is the first argument, also if it is the only one. */
function namesFirst({ json }: Spec, args: unknown[]): boolean {
  return json !== undefined && /^\$(\.0|\[0\])(?!\d)/.test(json) && !Array.isArray(args[0]);
}
