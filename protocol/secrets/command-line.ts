/** Command lines as reports and messages may show them. */
import { isSecretName } from './secret-names.ts';
import { MASK, maskText } from './secret-text.ts';

/** Options whose argument is a program text, which can have anything in it. */
const PROGRAM_TEXT = /^(-e|--eval|-p|--print|-pe)$/;
/** Options that carry a credential without saying so: `redis-cli -a`, `curl -u`. */
const UNNAMED: Record<string, RegExp> = { 'redis-cli': /^(-a|--pass|-u)$/, curl: /^(-u|--user|-b|-U)$/ };

/**
 * Masks values of options with a secret name (`--password=x`, `--password x`, `TOKEN=x`), credentials in URLs and headers,
 * and program texts (`node -e …`).
 * @param line the arguments, or the line with spaces between them
 * @returns the line with spaces between the arguments
 */
export function maskCommandLine(line: string | readonly string[]): string {
  const args = typeof line === 'string' ? line.split(' ') : line;
  const program = args[0]?.split('/').at(-1) ?? '';
  let masksNext: 'value' | 'text' | undefined;
  const shown = args.flatMap((arg) => {
    const before = masksNext;
    masksNext = nextAfter(arg, program);
    if (before === 'text') return [MASK];
    if (before === 'value' && !arg.startsWith('--')) {
      masksNext = undefined;
      return [MASK];
    }
    return [maskText(arg)];
  });
  return shown.join(' ');
}

function nextAfter(arg: string, program: string): 'value' | 'text' | undefined {
  if (PROGRAM_TEXT.test(arg) && /^(node|bun|deno|tsx|python\d*|perl|ruby)\b/.test(program)) return 'text';
  if (UNNAMED[program]?.test(arg)) return 'value';
  const [, name = ''] = /^--?(?!no-)([A-Za-z][\w.-]*)$/.exec(arg) ?? [];
  return name.length > 1 && isSecretName(name) ? 'value' : undefined;
}
