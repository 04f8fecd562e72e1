/** The control port over TLS, with the certificate of a private authority. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { execa } from 'execa';
import { ControlClients } from '../../../plugin/samplers/control/workers.ts';
import { instrument } from '../../../server/instrument.ts';
import { startApp, TOKEN } from '../../helpers/app.ts';
import { startChat } from '../../helpers/chat-server.ts';
import { PEM, PEM_FILES } from '../../helpers/pem.ts';

async function startControl(t: TestContext): Promise<string> {
  const { io } = await startChat(t);
  const { controlPort, close } = await instrument(io, { token: TOKEN, worker: 'w7', tls: PEM });
  t.after(close);
  return `https://localhost:${controlPort}`;
}

test('it is measured by a run that trusts the authority', async (t) => {
  const url = await startControl(t);
  const workers = new URL('../../../plugin/samplers/control/workers.ts', import.meta.url).href;
  const code = `
    const { ControlClients } = await import(${JSON.stringify(workers)});
    const control = await ControlClients.connect([${JSON.stringify(url)}], ${JSON.stringify(TOKEN)});
    const [stats] = await control.stats();
    const metrics = await fetch(${JSON.stringify(`${url}/metrics`)});
    console.log(stats.worker, metrics.status);
    control.close();`;
  const env = { NODE_EXTRA_CA_CERTS: PEM_FILES.cert };
  const { stdout } = await execa(process.execPath, ['--input-type=module', '--eval', code], { env });
  assert.equal(stdout, 'w7 200');
});

test('a run that is given the authority measures it, whatever its process trusts', async (t) => {
  const url = (await startControl(t)).replace('localhost', '127.0.0.1');
  const tls = { ca: PEM.cert };
  for (const options of [{ ...tls, servername: 'localhost' }, { rejectUnauthorized: false }]) {
    const control = await ControlClients.connect([url], TOKEN, { tls: options });
    assert.equal((await control.stats())[0]?.worker, 'w7');
    control.close();
  }
});

test('a control port that speaks TLS, not trusted, or asked without, and the other way round', async (t) => {
  const url = await startControl(t);
  const plain = await startApp(t);
  for (const wrong of [url, url.replace('https', 'http'), plain.controlUrl.replace('http', 'https')]) {
    await assert.rejects(ControlClients.connect([wrong], TOKEN), { code: 'SOURCE_UNREACHABLE' });
  }
});
