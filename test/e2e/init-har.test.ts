/** Tests the way from a recorded browser session to the answer of a run. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { launchBrowser } from '../helpers/browser.ts';
import { noChromium } from '../helpers/chromium.ts';
import { cli } from '../helpers/cli.ts';
import { PASSWORD, startApp } from '../helpers/recorded-apps.ts';
import { goodResult, startRun } from '../helpers/run.ts';
import { tempFolder } from '../helpers/temp-folder.ts';

const CONNECTIONS = 20;

it('init writes a scenario from a recording that measures the recorded application', {
  skip: noChromium,
}, async (t) => {
  const app = await startApp(t, 'form');
  const cwd = tempFolder(t);
  const browser = await launchBrowser();
  t.after(() => browser.close());
  const context = await browser.newContext({ recordHar: { path: join(cwd, 'session.har'), content: 'embed' } });
  await app.use(await context.newPage());
  await context.close();

  const init = await cli(cwd, 'init', '--har', 'session.har', '--listen', '1', '--connections', String(CONNECTIONS));
  assert.equal(init.code, 0, init.said);
  const file = join(cwd, 'capacity.yml');
  process.env.PASSWORT = PASSWORD;
  t.after(() => delete process.env.PASSWORT);
  const doctor = await cli(cwd, 'doctor', 'capacity.yml');
  assert.equal(doctor.code, 0, doctor.said);

  const receivedTexts: string[] = [];
  app.io.on('connection', (socket) => socket.on('say', ({ text }) => receivedTexts.push(text)));
  const run = startRun(t, {
    script: readFileSync(file, 'utf8'),
    env: { PASSWORT: PASSWORD, HOLD: '1', BROADCASTS: '5' },
  });
  const { connections, delivery } = await goodResult(run);
  const output = run.output();
  assert.deepEqual([connections.opened, connections.failed], [CONNECTIONS, 0], output);
  assert.deepEqual([delivery?.broadcasts, delivery?.coverage], [5, 1], output);
  // The server also received the texts of the warm-up.
  assert.ok(receivedTexts.length >= 5, output);
  assert.ok(!output.includes(PASSWORD));
});
