import { z } from 'zod';
import { withoutSecrets } from '../../../protocol/base/secrets/known-secrets.ts';
import { type FailureCode, reasonToCode } from '../../../protocol/codes/failure-codes.ts';
import { FlowError } from '../flow-error.ts';
import type { SharedByUsers } from '../shared.ts';
import { secretsOfUser } from '../tally.ts';
import type { UserContext } from '../user-types.ts';
import type { CompiledStep } from '../virtual-user.ts';
import { defineStep } from './step.ts';

/** Largest length of a printed error, about twenty lines of a stack trace. */
const MAX_ERROR_LENGTH = 2000;
/** Largest length of an error text that is searched for secrets. */
const MAX_READ_LENGTH = 100_000;

type Processor = (...args: unknown[]) => unknown;

/**
 * `function: name`: calls a function of `config.processor`. It has the arguments `(context, events, next)`; an async
 * function needs no `next`.
 */
export const functionStep = defineStep({
  schema: z.strictObject({
    function: z.string().describe('calls a function of `config.processor`: `(context, events, next)`, or async'),
  }),
  functionKeys: ['function'],
  compile: (spec, build) => compileFunction(spec.function, build.shared),
});

export function compileFunction(name: string, shared: SharedByUsers): CompiledStep {
  const call = compileCall(name, shared);
  return ({ context, events }) => call(context, [context, events]);
}

/** Returns a function that calls the processor function with the given arguments and a `next` callback. */
export function compileCall(
  name: string,
  shared: SharedByUsers,
): (context: UserContext, args: unknown[]) => Promise<void> {
  const code: FailureCode = `function_${reasonToCode(name)}`;
  let hasWarned = false;
  return async (context, args) => {
    try {
      await call(shared.processor[name] as Processor, args);
    } catch (error) {
      const { stack, message } = error instanceof Error ? error : { stack: undefined, message: String(error) };
      // Only the first failure is logged, because thousands of virtual users can fail in the same way.
      if (!hasWarned) shared.warn(`processor function ${name} failed: ${shownError(stack ?? message, context)}`);
      hasWarned = true;
      throw new FlowError(code, message, { cause: error });
    }
  };
}

/** Returns the start of an error's text. Secrets are masked, because a function can put any value into its error. */
function shownError(text: string, context: UserContext): string {
  // The text is shortened last, because a truncated secret would not be recognised.
  return withoutSecrets(text.slice(0, MAX_READ_LENGTH), secretsOfUser(context)).slice(0, MAX_ERROR_LENGTH);
}

function call(processor: Processor, args: unknown[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const next = (error?: unknown) => (error ? reject(error) : resolve());
    const returned = processor(...args, next);
    if (returned instanceof Promise) returned.then(() => resolve(), reject);
    // A function without the argument `next` is complete when it returns.
    else if (processor.length <= args.length) resolve();
  });
}
