/** `npx socketio-capacity init`: by options, and by asking. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { type Answer, cli, cliOnTerminal, noTerminal } from '../helpers/cli.ts';

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'init-'));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}

describe('init', () => {
  it('writes the scenario that the options describe, and does not overwrite a file', async (t) => {
    const cwd = folder(t);
    const joining = ['--emit', '["subscribe", "news"]'];
    const options = ['--url', 'http://localhost:3000', '--listen', '0', '--connections', '40', ...joining];
    const { code, stdout, stderr } = await cli(cwd, 'init', ...options);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /npx artillery run capacity\.yml/);
    const text = readFileSync(join(cwd, 'capacity.yml'), 'utf8');
    assert.match(text, /emit: \["subscribe",\s*"news"\]/);
    const again = await cli(cwd, 'init', '--url', 'http://localhost:4000', '--listen', '0');
    assert.equal(again.code, 2);
    assert.match(again.stderr, /^FILE_UNWRITABLE: capacity\.yml[\s\S]*--force/);
    assert.equal(readFileSync(join(cwd, 'capacity.yml'), 'utf8'), text);
    assert.equal((await cli(cwd, 'init', '--url', 'http://localhost:4000', '--listen', '0', '--force')).code, 0);
  });

  it('names all invalid options, and asks no questions without a terminal', async (t) => {
    const cwd = folder(t);
    const { code, stderr } = await cli(cwd, 'init', '--connections', '3');
    assert.equal(code, 2);
    assert.match(stderr, /^CONFIG_INVALID/);
    assert.match(stderr, /--url: expected a URL/);
    assert.match(stderr, /connections: expected 8 or more/);
    assert.ok(!existsSync(join(cwd, 'capacity.yml')));
  });

  it('reports what it wrote as JSON', async (t) => {
    const { stdout } = await cli(folder(t), 'init', '--json', '--url', 'http://10.0.0.1', '--instrumented');
    const { file, controlUrl, flow } = JSON.parse(stdout);
    assert.deepEqual(
      { file, controlUrl, flow },
      {
        file: 'capacity.yml',
        controlUrl: 'http://10.0.0.1:3200',
        flow: [{ emit: ['join_room', 'capacity'] }],
      },
    );
  });

  it('asks for missing options on a terminal', { skip: noTerminal }, async (t) => {
    const cwd = folder(t);
    const answers: Answer[] = [
      [/URL of the server/, 'http://localhost:5000'],
      [/instrument\(io\)/, 'y'],
    ];
    const { code, shown, left } = await cliOnTerminal(cwd, answers, 'init', '--connections', '40');
    assert.deepEqual([code, left], [0, []], shown);
    const text = readFileSync(join(cwd, 'capacity.yml'), 'utf8');
    assert.match(text, /target: "http:\/\/localhost:5000"/);
    assert.match(text, /urls: \["http:\/\/localhost:3200"\]/);
    assert.match(text, /room: capacity/);
  });
});
