/** Command lines as reports and messages may show them. */
import { isSecretName } from './secret-names.ts';
import { MASK, maskText } from './secret-text.ts';

/** Options whose argument is a program text, which can have anything in it. */
const PROGRAM_TEXT = /^(-e|--eval|-p|--print|-pe)$/;
/** Options that carry a credential without saying so: `redis-cli -a`, `curl -u`. */
const UNNAMED: Record<string, RegExp> = { 'redis-cli': /^(-a|--pass|-u)$/, curl: /^(-u|--user|-b|-U)$/ };

/** @returns the line with spaces between the arguments, masked like `maskArguments` */
export function maskCommandLine(line: string | readonly string[]): string {
  return maskArguments(typeof line === 'string' ? line.split(' ') : line).join(' ');
}

/**
 * Masks values of options with a secret name (`--password=x`, `--password x`, `TOKEN=x`), credentials in URLs and headers,
 * and program texts (`node -e …`).
 * @param args with the program first
 */
export function maskArguments(args: readonly string[]): string[] {
  const program = args[0]?.split('/').at(-1) ?? '';
  let masksNext: 'value' | 'text' | undefined;
  return args.map((arg) => {
    const before = masksNext;
    masksNext = nextAfter(arg, program);
    if (before === 'text') return MASK;
    if (before === 'value' && !arg.startsWith('--')) {
      masksNext = undefined;
      return MASK;
    }
    return maskText(arg);
  });
}

function nextAfter(arg: string, program: string): 'value' | 'text' | undefined {
  if (PROGRAM_TEXT.test(arg) && /^(node|bun|deno|tsx|python\d*|perl|ruby)\b/.test(program)) return 'text';
  if (UNNAMED[program]?.test(arg)) return 'value';
  const [, name = ''] = /^--?(?!no-)([A-Za-z][\w.-]*)$/.exec(arg) ?? [];
  return name.length > 1 && isSecretName(name) ? 'value' : undefined;
}
