/** A bench as a command: its options, its end by Ctrl-C, its errors. */
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { CapacityError, describeError } from '../protocol/codes/errors.ts';

export interface Command<O> {
  options: O;
  /** As the user typed it. */
  command: string;
  /** Aborted by Ctrl-C; everything that was started has to end. */
  signal: AbortSignal;
}

/** The options of a bench that measures in rounds. @param names of what it can measure */
export function roundsOptions(names: string[]) {
  return {
    repeat: z.coerce.number().int().positive().default(1),
    only: z
      .string()
      .transform((list) => list.split(','))
      .pipe(z.array(z.enum(names)))
      .optional(),
    publish: z.boolean().default(false),
  };
}

interface Definition<S extends z.ZodObject> {
  usage: string;
  /** An option takes a value, unless the schema has a boolean. */
  schema: S;
  run(command: Command<z.output<S>>): Promise<void>;
}

/** Sets the exit code; resolves when all is closed. */
export async function runCommand<S extends z.ZodObject>({ usage, schema, run }: Definition<S>): Promise<void> {
  const abort = new AbortController();
  // A second Ctrl-C means: at once.
  process.on('SIGINT', () => (abort.signal.aborted ? process.exit(130) : abort.abort()));
  process.on('SIGTERM', () => abort.abort());
  try {
    if (process.platform !== 'linux') {
      throw new CapacityError('LINUX_ONLY', 'the benches read /proc, and the floor uses epoll');
    }
    const options = parseOptions(schema, usage);
    const script = process.env.npm_lifecycle_event;
    const given = process.argv.slice(2);
    if (script === undefined) {
      throw new CapacityError(
        'CONFIG_INVALID',
        'a report names the command that it was made with',
        'use npm run <bench>',
      );
    }
    const command = [`npm run ${script}`, ...(given.length > 0 ? ['--', ...given] : [])].join(' ');
    await run({ options, command, signal: abort.signal });
  } catch (error) {
    if (!abort.signal.aborted) console.error(describeError(error));
    process.exitCode = abort.signal.aborted ? 130 : 1;
  }
}

function parseOptions<S extends z.ZodObject>(schema: S, usage: string): z.output<S> {
  try {
    const options = Object.fromEntries(
      Object.entries(schema.shape).map(([name, one]) => [name, { type: isFlag(one) ? 'boolean' : 'string' } as const]),
    );
    return schema.parse(parseArgs({ options }).values);
  } catch (error) {
    const message = error instanceof z.ZodError ? z.prettifyError(error) : (error as Error).message;
    throw new CapacityError('CONFIG_INVALID', message, usage);
  }
}

function isFlag(option: z.core.$ZodType): boolean {
  return option instanceof z.ZodDefault && option.unwrap() instanceof z.ZodBoolean;
}
