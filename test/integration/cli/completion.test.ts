/** `completion`: what real shells complete with its scripts. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { execa } from 'execa';
import { findTool } from '../../../server/stack/tools.ts';
import { cli } from '../../helpers/cli.ts';

/** What is typed, and what completes its last word. */
const TYPED: [string, string[]][] = [
  ['socketio-capacity chec', ['check']],
  ['npx socketio-capacity chec', ['check']],
  ['npx chec', []],
  ['socketio-capacity baseline ', ['check', 'save']],
  ['socketio-capacity baseline save --na', ['--name']],
  ['socketio-capacity check results/one --js', ['--json']],
  ['socketio-capacity check results', ['results/one/']],
  ['socketio-capacity doctor cap', ['capacity.yml']],
];

/** A folder with a run, a scenario, and the script of a shell. */
async function folder(t: TestContext, shell: string): Promise<string> {
  const path = mkdtempSync(join(tmpdir(), 'completion-'));
  t.after(() => rmSync(path, { recursive: true }));
  mkdirSync(join(path, 'results/one'), { recursive: true });
  writeFileSync(join(path, 'capacity.yml'), '');
  const { code, stdout, stderr } = await cli(path, 'completion', shell);
  assert.equal(code, 0, stderr);
  writeFileSync(join(path, 'script'), stdout);
  return path;
}

/** Asserts what `ask` in the shell prints for each line typed, one completion a line. No command is in its PATH then. */
async function assertCompleted(shell: string, cwd: string, begin: string, ask: (words: string[]) => string) {
  for (const [line, expected] of TYPED) {
    const script = `${begin}\n${ask(line.split(' ').map((word) => `'${word}'`))}`;
    const { stdout, stderr } = await execa(shell, ['-c', script], { cwd, reject: false });
    // Fish and zsh choose from what is offered by themselves.
    const last = line.slice(line.lastIndexOf(' ') + 1);
    const completed = stdout.split('\n').filter((one) => one !== '' && one.startsWith(last));
    assert.deepEqual([completed.sort(), stderr], [expected, ''], `${shell}: ${line}`);
  }
}

it('bash completes commands, options, runs and scenarios, also after npx, and sources the script twice', async (t) => {
  await assertCompleted(
    'bash',
    await folder(t, 'bash'),
    'set -e; source ./script; source ./script; PATH=/nowhere',
    (words) =>
      `COMP_WORDS=(${words.join(' ')}) COMP_CWORD=${words.length - 1}; _socketio_capacity || true; printf '%s\\n' "\${COMPREPLY[@]}"`,
  );
});

it('zsh does as well', { skip: findTool('zsh') ? false : 'there is no zsh' }, async (t) => {
  await assertCompleted(
    'zsh',
    await folder(t, 'zsh'),
    'autoload -U compinit; compinit -u -D; source ./script; source ./script; PATH=/nowhere',
    (words) =>
      `f() { local -a COMP_WORDS; words=(${words.join(' ')}) CURRENT=${words.length} COMP_CWORD=${words.length - 1}; COMP_WORDS=("\${words[@]}"); compgen -F _socketio_capacity -- ${words.at(-1)}; }; f || true`,
  );
});

it('fish does as well', { skip: findTool('fish') ? false : 'there is no fish' }, async (t) => {
  const ask = (words: string[]) => `complete -C ${JSON.stringify(words.join(' ').replaceAll("'", ''))}`;
  await assertCompleted('fish', await folder(t, 'fish'), 'source ./script; source ./script; set -x PATH /nowhere', ask);
});
