import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { ARTILLERY_LOG, divertReporter } from '../../../plugin/hook/reporter.ts';
import { RunFiles } from '../../../plugin/run/folder/run-files.ts';
import { fileTree } from '../../helpers/file-tree.ts';

/**
 * Calls listeners in Artillery's order. Plugins receive `stats` and `done` before Artillery's reporter prints, and
 * phases after it.
 */
function diverted(t: TestContext, files: Record<string, string> = {}) {
  const folder = fileTree(t, files);
  const globalEvents = new EventEmitter();
  const world = globalThis as { artillery?: unknown };
  world.artillery = { globalEvents };
  t.after(() => delete world.artillery);
  const screen: string[] = [];
  const log = (...args: unknown[]) => globalEvents.emit('log', {}, ...args);
  globalEvents.on('log', (_options, ...args) => screen.push(args.join(' ')));
  const events = new EventEmitter();
  divertReporter(events as never, new RunFiles(folder), ARTILLERY_LOG);
  return { globalEvents, events, screen, log, kept: () => readFileSync(join(folder, ARTILLERY_LOG), 'utf8') };
}

it('the reporter writes Artillery’s metrics, phases and checks to a file, and other lines to the screen', async (t) => {
  const { globalEvents, events, screen, log, kept } = diverted(t);
  log('Phase started: \x1b[32mramp\x1b[39m (index: 0)');
  log('a step’s own line');
  events.emit('stats', {});
  log('vusers.created: ... %d', 5);
  await Promise.resolve();
  log('between periods');
  events.emit('done', {});
  log('Summary report');
  globalEvents.emit('shutdown:start');
  log('\nChecks:');
  globalEvents.emit('checks', [{}, {}]);
  log('ok: a < 1');
  log('fail: b < 1');
  log('Apdex score: 0.9');
  assert.deepEqual(screen, ['a step’s own line', 'between periods', 'Apdex score: 0.9']);
  assert.deepEqual(kept().trim().split(/\n+/), [
    'Phase started: ramp (index: 0)',
    'vusers.created: ... 5',
    'Summary report',
    'Checks:',
    'ok: a < 1',
    'fail: b < 1',
  ]);
});

it('the reporter neither prints nor throws if a line cannot be written to its file', (t) => {
  const { events, screen, log } = diverted(t, { [`${ARTILLERY_LOG}/a-folder`]: '' });
  events.emit('stats', {});
  log('metrics');
  assert.deepEqual(screen, []);
});
