import { z } from 'zod';
import type { FailureCode } from '../../../protocol/failure-codes.ts';
import type { EngineContext } from '../engine-context.ts';
import { FlowError, slug } from '../flow-error.ts';
import type { Step, VirtualUser } from '../virtual-user.ts';
import { defineStep } from './step.ts';

type Processor = (context: unknown, events: unknown, next: (error?: unknown) => void) => unknown;

/** `function: name` runs a function of `config.processor`: `(context, events, next)`, or an async one without `next`. */
export const fn = defineStep({
  schema: z.strictObject({ function: z.string() }),
  functionKeys: ['function'],
  staySeconds: () => 0,
  compile: (spec, build) => compileFunction(spec.function, build.engine),
});

export function compileFunction(name: string, engine: EngineContext): Step {
  const code: FailureCode = `function_${slug(name)}`;
  const warned = new Set<string>();
  return async (user) => {
    try {
      await call(engine.processor[name] as Processor, user);
    } catch (error) {
      const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
      // Thousands of virtual users can fail in the same way: only the first failure is logged.
      if (warned.size === 0) engine.warn(`processor function ${name} failed: ${message}`);
      warned.add(code);
      throw new FlowError(code, message, { cause: error });
    }
  };
}

function call(processor: Processor, user: VirtualUser): Promise<void> {
  return new Promise((resolve, reject) => {
    const next = (error?: unknown) => (error ? reject(error) : resolve());
    const returned = processor(user.context, user.events, next);
    if (returned instanceof Promise) returned.then(() => resolve(), reject);
    // A function that takes no `next` cannot call it.
    else if (processor.length < 3) resolve();
  });
}
