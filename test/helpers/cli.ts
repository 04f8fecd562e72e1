import { join } from 'node:path';
import { execa } from 'execa';
import { findTool } from '../../server/stack/tools.ts';

const CLI = join(import.meta.dirname, '../../plugin/hook/cli.js');

/** Runs `npx socketio-capacity` in a folder, without a terminal. */
export async function cli(cwd: string, ...args: string[]) {
  const { exitCode, stdout, stderr } = await execa(process.execPath, [CLI, ...args], { cwd, reject: false });
  return { code: exitCode, stdout, stderr };
}

/** Why tests on a terminal are to be skipped; false where they need not. */
export const noTerminal = findTool('script') ? false : 'there is no `script` to make a pseudo terminal with';

/** A question, and what is typed in answer to it. */
export type Answer = [question: RegExp, typed: string];

/**
 * Runs `npx socketio-capacity` on a terminal, and answers its questions in this order.
 * @returns what the terminal showed, and the questions that were not asked
 */
export async function cliOnTerminal(cwd: string, answers: Answer[], ...args: string[]) {
  const command = [process.execPath, CLI, ...args].map((part) => `'${part}'`).join(' ');
  const env = { TERM: 'xterm', SHELL: '/bin/sh' };
  const child = execa('script', ['-qfec', command, '/dev/null'], { cwd, timeout: 20_000, reject: false, env });
  const left = [...answers];
  let seen = '';
  child.stdout.on('data', (data) => {
    seen += data;
    const [question, typed] = left[0] ?? [];
    if (!question?.test(stripped(seen))) return;
    left.shift();
    seen = '';
    child.stdin.write(typed === END_OF_INPUT ? typed : `${typed}\r`);
  });
  const { exitCode, stdout } = await child;
  return { code: exitCode, shown: stripped(stdout), left };
}

/** Ctrl-D, in place of an answer. */
export const END_OF_INPUT = '\x04';

/** Ctrl-U, before an answer in place of the last one. */
export const CLEAR_LINE = '\x15';

/** Without what moves the cursor. */
function stripped(output: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what it takes away
  return output.replace(/\x1b\[[0-9;?]*[A-Za-z]/g, '');
}
