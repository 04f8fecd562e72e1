/** Tests the guide for a server on another machine, word for word. Another local address stands for that machine. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { findFreePorts } from '../../server/stack/ports.ts';
import { codeBlocks, page, ROOT } from '../helpers/pages.ts';
import { eventually } from '../helpers/poll.ts';
import { startProcess } from '../helpers/process.ts';
import { goodResult, hasAllPlateaus, startRun } from '../helpers/run.ts';
import { tempFolder } from '../helpers/temp-folder.ts';

const [, part = ''] = page('docs/guide/own-server.md').split('\n### 2. Point the run at it\n');
const block = (language: string) => codeBlocks(part, language)[0] ?? '';

test('a run configured as in the guide measures a server at another address', async (t) => {
  const [port, controlPort] = (await findFreePorts(2)) as [number, number];
  const adapt = (code: string) =>
    code.replaceAll('10.0.0.11', '127.0.0.2').replaceAll('3000', `${port}`).replaceAll('3200', `${controlPort}`);
  const installed: Record<string, string> = {
    'socket.io': import.meta.resolve('socket.io'),
    'socketio-capacity-instrument': pathToFileURL(join(ROOT, 'server/instrument.ts')).href,
  };
  const server = adapt(block('js')).replace(/from '([\w.-]+)'/g, (whole, name) =>
    installed[name] ? `from '${installed[name]}'` : whole,
  );
  const commands = adapt(block('sh')).trim().split('\n');
  assert.equal(commands.at(-1), 'npx artillery run scenarios/smoke.yml');
  const exports = commands.slice(0, -1);
  const CAPACITY_TOKEN = /CAPACITY_TOKEN=(\S+)/.exec(exports.join('\n'))?.[1] ?? '';

  const folder = tempFolder(t);
  writeFileSync(join(folder, 'server.mjs'), server);
  const env = { ...process.env, CAPACITY_TOKEN };
  startProcess(t, process.execPath, ['--disable-warning=ExperimentalWarning', join(folder, 'server.mjs')], { env });
  await eventually('the server answers', () =>
    fetch(`http://127.0.0.2:${controlPort}/healthz`).then(Boolean, () => false),
  );

  const script = readFileSync(join(ROOT, 'scenarios/smoke.yml'), 'utf8');
  const run = startRun(t, { script, before: exports.join('\n'), env: { RATE: '25', BROADCASTS: '3' } });
  const result = await goodResult(run);
  assert.equal(result.run.target, `http://127.0.0.2:${port}`);
  assert.equal(result.connections.held, 50);
  assert.equal(result.delivery?.coverage, 1);
  if (hasAllPlateaus(result)) assert.ok(result.memory.perConnectionBytes.workerRss);
});
