/** What a run shows on a terminal, and what it keeps to itself elsewhere. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it, type TestContext } from 'node:test';
import { findTool } from '../../server/stack/tools.ts';
import { startApp, TOKEN } from '../helpers/app.ts';
import { goodResult, quickScript, startRun } from '../helpers/run.ts';
import { Screen } from '../helpers/screen.ts';

const app = await startApp();
after(() => app.close());

/** What the live line ends with. */
const BACK_UP = '\x1b[1A\r';
const VERDICT = /^Measurement: (VALID|SUSPECT)/m;
const LIVE = / · \d+ \/ 10 connected/;
const noScript = findTool('script') ? false : 'there is no `script` to make a pseudo terminal with';

function options() {
  const control = { urls: [app.controlUrl], token: TOKEN };
  return { script: quickScript({ target: app.url }, { control }) };
}

async function outputOnTerminal(t: TestContext, args: string[] = []) {
  const terminal = { TERM: 'xterm', CI: '', NO_COLOR: '1', COLUMNS: '100' };
  const run = startRun(t, { ...options(), args, env: terminal, terminal: true });
  await goodResult(run);
  return run.output();
}

// One after the other: a run on a server that is not empty is SUSPECT.
describe('a run', () => {
  it('on a terminal shows one live line, which is removed at the end', { skip: noScript }, async (t) => {
    const output = await outputOnTerminal(t);
    const screen = new Screen(100);
    let most = 0;
    const stages = new Set<string>();
    // As if somebody looked whenever the cursor came to rest.
    for (const part of output.split(BACK_UP)) {
      screen.write(part + BACK_UP);
      const live = screen.lines().filter((line) => LIVE.test(line));
      most = Math.max(most, live.length);
      for (const line of live) stages.add(line.trim().split(' ')[0] ?? '');
    }
    assert.equal(most, 1);
    for (const stage of ['baseline', 'ramp', 'plateau']) assert.ok(stages.has(stage), `${stage} in ${[...stages]}`);
    const left = screen.lines();
    assert.deepEqual(
      left.filter((line) => LIVE.test(line)),
      [],
    );
    assert.ok(
      left.some((line) => VERDICT.test(line)),
      left.join('\n'),
    );
    assert.ok(left.some((line) => line.startsWith('Result: results/')));
  });

  it('with --quiet shows no live line', { skip: noScript }, async (t) => {
    assert.doesNotMatch(await outputOnTerminal(t, ['--quiet']), LIVE);
  });

  it('in a pipe ends in a screenful, and goes on in lines of 80 columns; Artillery’s metrics are in a file', async (t) => {
    const run = startRun(t, options());
    await goodResult(run);
    const lines = run.output().trimEnd().split('\n');
    assert.match(run.output(), VERDICT);
    assert.doesNotMatch(run.output(), /vusers\.created|Phase started|^ok: /m);
    assert.deepEqual(
      lines.filter(({ length }) => length > 80),
      [],
    );
    // How long it takes depends on the machine.
    const rest = lines.filter((line) => !LIVE.test(line));
    assert.ok(rest.length < 30, run.output());
    const kept = readFileSync(join(run.directory, 'results/latest/artillery.log'), 'utf8');
    for (const part of ['Phase started: ', 'Summary report', 'vusers.created: ']) assert.ok(kept.includes(part), part);
  });
});
