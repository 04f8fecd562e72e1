/** Runs `npx socketio-capacity` like a user or a CI job. */
import { join } from 'node:path';
import { format, stripVTControlCharacters } from 'node:util';
import type { Command } from 'commander';
import { execa } from 'execa';
import { createProgram, runProgram } from '../../plugin/cli/program.ts';
import { findTool } from '../../server/stack/tools.ts';

/** Start script, for commands that need their own process. */
export const CLI = join(import.meta.dirname, '../../plugin/hook/cli.js');

/** Commands run one after the other, because they share the working directory, the console and the exit code. */
let last: Promise<unknown> = Promise.resolve();

/**
 * Runs `npx socketio-capacity` in a folder, without a terminal. It runs in this process, because Node takes most of a
 * second to start.
 */
export function cli(cwd: string, ...args: string[]) {
  const run = last.then(() => runHere(cwd, args));
  last = run.catch(() => {});
  return run;
}

async function runHere(cwd: string, args: string[]) {
  const out: string[] = [];
  const err: string[] = [];
  const before = { cwd: process.cwd(), exitCode: process.exitCode, log: console.log, error: console.error };
  process.chdir(cwd);
  process.exitCode = 0;
  console.log = (...parts) => void out.push(`${format(...parts)}\n`);
  console.error = (...parts) => void err.push(`${format(...parts)}\n`);
  const program = createProgram();
  const capture = (command: Command) => {
    command.configureOutput({ writeOut: (text) => void out.push(text), writeErr: (text) => void err.push(text) });
    command.commands.forEach(capture);
  };
  capture(program);
  try {
    await runProgram(program, args);
    const [stdout, stderr] = [out.join('').trimEnd(), err.join('').trimEnd()];
    return { code: process.exitCode, stdout, stderr, said: stdout + stderr };
  } finally {
    process.chdir(before.cwd);
    process.exitCode = before.exitCode;
    console.log = before.log;
    console.error = before.error;
  }
}

/** Reason to skip tests that need a terminal; false if there is one. */
export const noTerminal = findTool('script') ? false : 'there is no `script` to make a pseudo terminal with';

/** Question of the command, and the typed answer. */
export type Answer = [question: RegExp, typed: string];

/**
 * Runs `npx socketio-capacity` on a terminal, and answers its questions in this order.
 * @returns the text on the terminal, and the questions that were not asked
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
    if (!question?.test(stripVTControlCharacters(seen))) return;
    left.shift();
    seen = '';
    child.stdin.write(typed === END_OF_INPUT ? typed : `${typed}\r`);
  });
  const { exitCode, stdout } = await child;
  return { code: exitCode, shown: stripVTControlCharacters(stdout), left };
}

/** Ctrl-D: ends the input instead of an answer. */
export const END_OF_INPUT = '\x04';

/** Ctrl-U: deletes the line before a new answer. */
export const CLEAR_LINE = '\x15';
