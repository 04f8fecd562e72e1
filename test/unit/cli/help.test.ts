import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { it } from 'node:test';
import type { Command } from 'commander';
import { execa } from 'execa';
import { createProgram } from '../../../plugin/cli/program.ts';
import { ROOT } from '../../helpers/pages.ts';

/** Returns all commands, each with the words of its name. */
function commandsIn(command: Command, words: string[] = []): [string[], Command][] {
  return [[words, command], ...command.commands.flatMap((inner) => commandsIn(inner, [...words, inner.name()]))];
}

for (const [words, command] of commandsIn(createProgram())) {
  const name = ['npx socketio-capacity', ...words].join(' ');

  it(`the help of ${name} fits 80 columns, and has defaults as they are typed`, () => {
    let help = '';
    command.configureOutput({ writeOut: (text) => (help += text), getOutHelpWidth: () => 80 }).outputHelp();
    assert.doesNotMatch(help, /.{81}|default: \{/);
  });

  it(`the error of a wrong option of ${name} refers to the help of the command`, async () => {
    const program = createProgram();
    let error = '';
    for (const [, one] of commandsIn(program)) one.configureOutput({ writeErr: (text) => (error += text) });
    await assert.rejects(program.parseAsync([...words, '--nothing-of-the-kind'], { from: 'user' }));
    assert.ok(error.includes(`(see ${name} --help)`), error);
  });
}

it('the completion script for bash completes commands and options after npx, and leaves other programs to files', async (t) => {
  const print = t.mock.method(console, 'log', () => {});
  await createProgram().parseAsync(['completion', 'bash'], { from: 'user' });
  const [script] = print.mock.calls[0]?.arguments ?? [];
  const completed = (
    line: string,
  ) => `COMP_LINE='${line}'; COMP_POINT=\${#COMP_LINE}; COMP_WORDS=(npx "\${COMP_LINE##* }")
    COMP_CWORD=1; _socketio_capacity; echo "\${COMPREPLY[*]}"`;
  const lines = [
    'npx socketio-capacity st',
    'npx socketio-capacity stack ',
    'npx socketio-capacity stack up --redis',
    'npx cowsay ',
  ];
  const { stdout } = await execa('bash', ['-c', [script, ...lines.map(completed)].join('\n')]);
  assert.deepEqual(stdout.split('\n'), ['study stack', 'up status down --help', '--redis-nodes', '']);
});

it('a command ends quietly if its output is closed', async () => {
  const child = spawn(process.execPath, [join(ROOT, 'plugin/hook/cli.js'), '--help']);
  child.stdout.destroy();
  let error = '';
  child.stderr.on('data', (data) => (error += data));
  const [code] = await once(child, 'close');
  assert.deepEqual([code, error], [0, '']);
});
