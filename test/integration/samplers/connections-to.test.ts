import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { it } from 'node:test';
import { connectionsTo, listenersOn } from '../../../plugin/samplers/processes/connections-to.ts';
import { startOrphan } from '../../helpers/orphan.ts';
import { eventually } from '../../helpers/poll.ts';

const CLIENT = `const [port, host] = process.argv.slice(1);
  require('node:net').connect(port, host, () => console.log('connected'));`;

for (const host of ['127.0.0.1', '::1']) {
  it(`counts connections to a port from ${host}, but none of this process`, {
    skip: process.platform !== 'linux',
  }, async (t) => {
    const sockets: Socket[] = [];
    const server = createServer((socket) => void sockets.push(socket));
    t.after(() => {
      server.close();
      for (const socket of sockets) socket.destroy();
    });
    server.listen(0);
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    assert.equal(await connectionsTo(port), 0);
    const own = connect(port, host);
    sockets.push(own);
    await once(own, 'connect');
    const others = [1, 2].map(() => spawn(process.execPath, ['-e', CLIENT, String(port), host]));
    t.after(() => others.map((one) => one.kill()));
    await Promise.all(others.map((one) => once(one.stdout, 'data')));
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
  const { pids, line } = await startOrphan(t, script);
  const port = Number(await line());
  assert.deepEqual(await listenersOn(port), pids);
  const own = createServer();
  t.after(() => own.close());
  own.listen(0);
  await once(own, 'listening');
  assert.equal(await listenersOn((own.address() as AddressInfo).port), undefined);
});
