/** A conductor that is stopped ends, at whatever moment that is, and leaves nothing. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { conductHosts } from '../../../plugin/conduct/hosts/conduct-hosts.ts';
import { hookConfig } from '../../helpers/measurements.ts';
import { eventually } from '../../helpers/poll.ts';

const CLI = join(import.meta.dirname, '../../../plugin/hook/cli.js');

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'stop-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A conductor in this process, which nobody joins by itself. */
function conductor(t: TestContext, hosts: number) {
  const printed: string[] = [];
  t.mock.method(console, 'log', (text: string) => printed.push(text));
  t.mock.method(console, 'error', (text: string) => printed.push(text));
  const stop = new AbortController();
  const results = folderOf(t);
  const run = () =>
    conductHosts({
      ...{
        script: { config: {} },
        config: hookConfig({ results }, {}),
        path: 'a.yml',
        artilleryVersion: 'none',
        hosts,
      },
      ...{ listen: { host: '127.0.0.1', port: 0 }, address: '127.0.0.1', secret: undefined, launch: [] },
      signal: stop.signal,
    });
  const line = () => /CAPACITY_CONDUCTOR='([^']+)'/.exec(printed.join('\n'))?.[1];
  return { run, stop: () => stop.abort(), printed, line, results };
}

type Test = ReturnType<typeof conductor>;

const MOMENTS: Record<string, (test: Test) => Promise<void>> = {
  'before it begins': async ({ stop }) => stop(),
  'while it makes its secret': async ({ stop }) => queueMicrotask(stop),
  'while it begins to listen': async ({ stop }) => {
    await setImmediate();
    stop();
  },
  'when it has printed its line': async ({ stop, line }) => {
    await eventually('the line', line);
    stop();
  },
};

for (const [moment, act] of Object.entries(MOMENTS)) {
  it(`stopped ${moment}`, async (t) => {
    const test = conductor(t, 2);
    if (moment === 'before it begins') test.stop();
    const ended = test.run();
    await act(test);
    await ended;
    assert.doesNotMatch(test.printed.join('\n'), /UNEXPECTED|report it/);
    assert.equal(existsSync(test.results), false);
  });
}

it('stopped twice, it does not wait for what it has launched', async (t) => {
  const folder = folderOf(t);
  const config = {
    target: 'http://127.0.0.1:1',
    engines: { 'socketio-capacity': {} },
    phases: [{ duration: 1, arrivalRate: 1 }],
  };
  const scenarios = [{ engine: 'socketio-capacity', flow: [{ connect: {} }, { hold: true }] }];
  writeFileSync(join(folder, 'a.json'), JSON.stringify({ config, scenarios }));
  const stubborn = `trap '' INT TERM; echo "launched $$"; while :; do sleep 1; done`;
  const args = [CLI, 'conduct', '--hosts', '1', '--listen', '127.0.0.1:0', 'a.json', '--', 'sh', '-c', stubborn];
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  t.after(() => child.kill('SIGKILL'));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
  const ended = once(child, 'exit');
  const pid = await eventually('the launch', () => /launched (\d+)/.exec(output)?.[1], 60_000);
  child.kill('SIGTERM');
  await eventually('the first stop', () => output.includes('Stopped before anything was measured'));
  child.kill('SIGTERM');
  assert.deepEqual(await ended, [130, null], output);
  await eventually('the end of what was launched', () => {
    try {
      return !process.kill(Number(pid), 0);
    } catch {
      return true;
    }
  });
});
