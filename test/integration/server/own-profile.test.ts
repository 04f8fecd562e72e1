/** Tests profiles of a worker through its control port. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { ControlClients } from '../../../plugin/samplers/control/control-workers.ts';
import { TOKEN } from '../../helpers/app.ts';
import { startInstrumented } from '../../helpers/chat-server.ts';

const KEPT_BYTES = 8e6;

async function connected(t: TestContext, urls: string[]): Promise<ControlClients> {
  const clients = await ControlClients.connect(urls, TOKEN);
  t.after(() => clients.close());
  return clients;
}

function allocateKept(): number[] {
  return new Array(KEPT_BYTES / 8).fill(0.5);
}

function useCpu(): number {
  let sum = 0;
  for (let step = 0; step < 2e7; step++) sum += Math.sqrt(step);
  return sum;
}

describe('the profile of a worker', () => {
  it('a worker refuses profiles by default, and the error contains the option that allows them', async (t) => {
    const { control } = await startInstrumented(t, () => {});
    const clients = await connected(t, control.urls);
    await assert.rejects(clients.startProfiles('heap'), {
      code: 'REQUEST_FAILED',
      message: /does not allow profiles: set the option `profile: true` of `instrument\(io\)`/,
    });
  });

  it('the profile of a worker shows functions that allocate retained memory, and functions that use CPU', async (t) => {
    const { control } = await startInstrumented(t, () => {}, { profile: true });
    const clients = await connected(t, control.urls);
    await clients.startProfiles('heap');
    const kept = allocateKept();
    const [heap] = await clients.takeProfiles();
    const bytes =
      heap?.nodes.filter(({ name }) => name === 'allocateKept').reduce((sum, { self }) => sum + self, 0) ?? 0;
    assert.ok(bytes > 0.9 * KEPT_BYTES && bytes < 1.1 * KEPT_BYTES, `${bytes} bytes of ${kept.length} numbers`);
    assert.equal(heap?.kind, 'heap');
    await clients.startProfiles('cpu');
    useCpu();
    const [cpu] = await clients.takeProfiles();
    const longest = cpu?.nodes.filter(({ name }) => name !== '(idle)').toSorted((a, b) => b.self - a.self)[0];
    assert.equal(longest?.name, 'useCpu');
    assert.ok((cpu?.cpu?.processUs ?? 0) > 0);
  });

  it('the profile of a worker ends with the last control connection', async (t) => {
    const { control } = await startInstrumented(t, () => {}, { profile: true });
    const clients = await connected(t, control.urls);
    const other = await connected(t, control.urls);
    await clients.startProfiles('heap');
    clients.close();
    assert.equal((await other.takeProfiles()).length, 1);
    await other.startProfiles('heap');
    other.close();
    const last = await connected(t, control.urls);
    await assert.rejects(last.takeProfiles(), /no profile is running/);
  });
});
