import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { startOwnServer } from '../../../plugin/series/own-server.ts';
import { findFreePorts } from '../../../server/stack/ports.ts';
import { processRef } from '../../../server/stack/state/stack-processes.ts';
import { fileTree } from '../../helpers/file-tree.ts';
import { eventually } from '../../helpers/poll.ts';

const SERVER = `
const child = require('node:child_process').spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
console.log('child', child.pid, process.env.GREETING);
require('node:http').createServer((_, response) => response.end()).listen(process.env.PORT, '127.0.0.1');
`;

async function prepareServer(t: TestContext, code = SERVER) {
  const cwd = fileTree(t, { 'server.cjs': code });
  const [port = 0] = await findFreePorts(1);
  const log = join(cwd, 'server.log');
  const start = (ready: number | string = port) =>
    startOwnServer(
      { command: [process.execPath, 'server.cjs'], ready, cwd },
      { env: { PORT: `${port}`, GREETING: 'hello' }, log, signal: AbortSignal.timeout(30_000) },
    );
  return { start, port, log };
}

it("a series starts the user's server before each run, and stops all its processes afterwards", async (t) => {
  const { start, port, log } = await prepareServer(t);
  const server = await start(`http://127.0.0.1:${port}/`);
  t.after(() => server.close());
  // Waits for the log, because the output passes through this process and can be later than the first response.
  const child = await eventually('its log', () => /^child (\d+) hello$/m.exec(readFileSync(log, 'utf8'))?.[1]);
  assert.ok(processRef(server.pid) && processRef(Number(child)));
  await assert.rejects(start(), { code: 'PORT_UNAVAILABLE' });
  await Promise.all([server.close(), server.close()]);
  assert.equal(processRef(server.pid) ?? processRef(Number(child)), undefined);
  assert.ok(server.hasEnded());
});

it('reports a server that does not start with the end of its log', async (t) => {
  const { start } = await prepareServer(t, 'throw new Error("no configuration")');
  const message = /has ended: .*exit code 1.*no configuration/s;
  await assert.rejects(start(), { code: 'START_FAILED', message });
});
