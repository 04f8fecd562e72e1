import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { it } from 'node:test';
import { connectionsTo, listenersOn } from '../../../plugin/samplers/processes/connections-to.ts';
import { eventually } from '../../helpers/poll.ts';
import { startOrphan, startProcess } from '../../helpers/process.ts';
import { listen } from '../../helpers/raw-listen.ts';

const CLIENT = `const [port, host] = process.argv.slice(1);
  require('node:net').connect(port, host, () => console.log('connected'));`;

for (const host of ['127.0.0.1', '::1']) {
  it(`counts connections to a port from ${host}, but none of this process`, {
    skip: process.platform !== 'linux',
  }, async (t) => {
    const port = await listen(t, createServer(), '::');
    assert.equal(await connectionsTo(port), 0);
    await once(connect(port, host), 'connect');
    const others = [1, 2].map(() => startProcess(t, process.execPath, ['-e', CLIENT, String(port), host]));
    await Promise.all(others.map((one) => one.said(/connected/)));
    await eventually('two', async () => (await connectionsTo(port)) === 2);
    for (const one of others) one.kill();
    await eventually('none', async () => (await connectionsTo(port)) === 0);
  });
}

it('is unknown where the kernel lists none', async () => {
  assert.equal(await connectionsTo(1, ['/nowhere']), undefined);
});

it('names the processes that listen on a port, but none of the generator’s own', {
  skip: process.platform !== 'linux',
}, async (t) => {
  const script = `const server = require('node:net').createServer();
    server.listen(0, () => [process.pid, server.address().port].forEach((line) => console.log(line)));`;
  const { pids, line } = await startOrphan(t, '-e', script);
  const port = Number(await line());
  assert.deepEqual(await listenersOn(port), pids);
  assert.equal(await listenersOn(await listen(t, createServer())), undefined);
});
