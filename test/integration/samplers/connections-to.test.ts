import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { it } from 'node:test';
import { connectionsTo, listenersOn } from '../../../plugin/samplers/processes/connections-to.ts';
import { startOrphan } from '../../helpers/orphan.ts';
import { eventually } from '../../helpers/poll.ts';

it('counts the server’s ends of the connections to a port', { skip: process.platform !== 'linux' }, async (t) => {
  const server = createServer();
  t.after(() => server.close());
  server.listen(0);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  assert.equal(await connectionsTo(port), 0);
  const clients: Socket[] = [];
  t.after(() => {
    for (const client of clients) client.destroy();
  });
  for (let count = 1; count <= 3; count++) {
    const client = connect(port, '127.0.0.1');
    clients.push(client);
    await once(client, 'connect');
  }
  await eventually('three', async () => (await connectionsTo(port)) === 3);
  for (const client of clients) client.destroy();
  await eventually('none', async () => (await connectionsTo(port)) === 0);
});

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
