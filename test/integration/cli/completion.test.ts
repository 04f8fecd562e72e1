/** `completion`: what real shells complete with its scripts. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { execa } from 'execa';
import { findTool } from '../../../server/stack/tools.ts';
import { ROOT } from '../../helpers/pages.ts';

const PATH = [join(ROOT, 'node_modules/.bin'), dirname(process.execPath), process.env.PATH].join(delimiter);

/** What the package bash-completion brings, where it is not installed. */
const WORDS_BY_REF = `_get_comp_words_by_ref() {
  cur=\${COMP_WORDS[COMP_CWORD]} words=("\${COMP_WORDS[@]}") cword=$COMP_CWORD
}`;

/** A folder with a run and a scenario. */
function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'completion-'));
  t.after(() => rmSync(path, { recursive: true }));
  mkdirSync(join(path, 'results/one'), { recursive: true });
  writeFileSync(join(path, 'results/one/result.json'), '{}');
  writeFileSync(join(path, 'capacity.yml'), '');
  return path;
}

const inShell = (shell: string, script: string, cwd: string) =>
  execa(shell, ['-c', script], { cwd, env: { PATH }, reject: false });

it('bash completes commands, options, runs and scenarios', async (t) => {
  const cwd = folder(t);
  const typed: [string, string[]][] = [
    ['chec', ['check']],
    ['baseline ', ['save', 'check', 'help']],
    ['check results/one --js', ['--json']],
    ['check ', ['results/one']],
    ['doctor ', ['capacity.yml']],
  ];
  const asked = typed.map(([line]) => {
    const words = `socketio-capacity ${line}`.split(' ');
    const quoted = words.map((word) => `'${word}'`).join(' ');
    return `COMP_WORDS=(${quoted}) COMP_CWORD=${words.length - 1}; COMPREPLY=(); $complete; echo "\${COMPREPLY[*]}"`;
  });
  const script = [
    WORDS_BY_REF,
    'source <(socketio-capacity completion bash)',
    // `complete -F <function> socketio-capacity`
    'read -r _ _ complete _ < <(complete -p socketio-capacity)',
    ...asked,
  ].join('\n');
  const { stdout, stderr } = await inShell('bash', script, cwd);
  assert.deepEqual(
    stdout.split('\n').map((line) => line.split(' ')),
    typed.map(([, completed]) => completed),
    stderr,
  );
});

it('fish completes commands', { skip: findTool('fish') ? false : 'there is no fish' }, async (t) => {
  const script = 'socketio-capacity completion fish | source; complete -C "socketio-capacity chec"';
  assert.match((await inShell('fish', script, folder(t))).stdout, /^check\b/);
});

it('zsh accepts the script', { skip: findTool('zsh') ? false : 'there is no zsh' }, async (t) => {
  const script = 'autoload -U compinit && compinit -u && source <(socketio-capacity completion zsh)';
  const { exitCode, stderr } = await inShell('zsh', `${script} && (( $+_comps[socketio-capacity] ))`, folder(t));
  assert.equal(exitCode, 0, stderr);
});
