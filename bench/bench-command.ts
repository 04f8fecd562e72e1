/** Runs a bench as a command: parses options, handles Ctrl-C, reports errors. */
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { CapacityError, describeError } from '../protocol/codes/errors.ts';

export interface BenchCommand<O> {
  options: O;
  /** Command line of the bench, for reports. */
  command: string;
  /** Signal that Ctrl-C aborts. The bench must then end all processes that it has started. */
  signal: AbortSignal;
}

/**
 * Returns the options of a bench that measures in rounds.
 * @param names names of the variants
 */
export function roundsOptions(names: string[]) {
  return {
    repeat: z.coerce.number().int().positive().default(1),
    only: namesOption(names).optional(),
    publish: z.boolean().default(false),
  };
}

/** Returns an option whose value is a list of these names, separated by commas. */
export function namesOption<const Name extends string>(names: readonly Name[]) {
  return z
    .string()
    .transform((list) => list.split(','))
    .pipe(z.array(z.enum(names as [Name, ...Name[]])));
}

interface Definition<S extends z.ZodObject> {
  usage: string;
  /** Schema of the options. An option takes a value unless its schema is boolean. */
  schema: S;
  run(command: BenchCommand<z.output<S>>): Promise<void>;
}

/** Runs the command and sets the exit code. Resolves when all resources are closed. */
export async function runCommand<S extends z.ZodObject>({ usage, schema, run }: Definition<S>): Promise<void> {
  const abort = new AbortController();
  // A second Ctrl-C exits immediately.
  process.on('SIGINT', () => (abort.signal.aborted ? process.exit(130) : abort.abort()));
  process.on('SIGTERM', () => abort.abort());
  try {
    if (process.platform !== 'linux') {
      throw new CapacityError('LINUX_ONLY', 'the benches need Linux: they read /proc and use epoll');
    }
    const options = parseOptions(schema, usage);
    const script = process.env.npm_lifecycle_event;
    const given = process.argv.slice(2);
    if (script === undefined) {
      throw new CapacityError(
        'CONFIG_INVALID',
        'the bench was not started by npm, whose script name the report shows as its command',
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
      Object.entries(schema.shape).map(([name, option]) => [
        name,
        { type: isFlag(option) ? 'boolean' : 'string' } as const,
      ]),
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
