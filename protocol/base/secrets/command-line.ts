/** Masks secrets in command lines, for reports and messages. */
import { isSecretName, maskText, SECRET_MASK } from './secret-text.ts';

/** Pattern of options whose argument is program text, which can contain secrets. */
const PROGRAM_TEXT = /^(-e|--eval|-p|--print|-pe)$/;
/** Options that take a credential although their names do not show it, by program: `redis-cli -a`, `curl -u`. */
const CREDENTIAL_OPTIONS: Record<string, RegExp> = { 'redis-cli': /^(-a|--pass|-u)$/, curl: /^(-u|--user|-b|-U)$/ };

/**
 * Masks a command line like `maskArguments`.
 * @returns the arguments, joined by spaces
 */
export function maskCommandLine(line: string | readonly string[]): string {
  return maskArguments(typeof line === 'string' ? line.split(' ') : line).join(' ');
}

/**
 * Masks values of options with a secret name (`--password=x`, `--password x`, `TOKEN=x`), credentials in URLs and
 * headers, and program texts (`node -e …`).
 * @param args program and arguments
 */
export function maskArguments(args: readonly string[]): string[] {
  const program = args[0]?.split('/').at(-1) ?? '';
  let masksNext: 'value' | 'text' | undefined;
  return args.map((arg) => {
    const maskAs = masksNext;
    masksNext = nextAfter(arg, program);
    if (maskAs === 'text') return SECRET_MASK;
    if (maskAs === 'value' && !arg.startsWith('--')) {
      masksNext = undefined;
      return SECRET_MASK;
    }
    return maskText(arg);
  });
}

function nextAfter(arg: string, program: string): 'value' | 'text' | undefined {
  if (PROGRAM_TEXT.test(arg) && /^(node|bun|deno|tsx|python\d*|perl|ruby)\b/.test(program)) return 'text';
  if (CREDENTIAL_OPTIONS[program]?.test(arg)) return 'value';
  const [, name = ''] = /^--?(?!no-)([A-Za-z][\w.-]*)$/.exec(arg) ?? [];
  return name.length > 1 && isSecretName(name) ? 'value' : undefined;
}
