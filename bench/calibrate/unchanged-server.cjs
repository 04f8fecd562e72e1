/**
 * An uninstrumented Socket.IO server for any version of Node. Keeps objects for each user, and as many bytes in a key of OpenSSL as its
 * argument says. Reports V8's memory after a collection, without compiled code.
 */
const { createSecretKey } = require('node:crypto');
const { createServer } = require('node:http');
const v8 = require('node:v8');
const { Server } = require('socket.io');

const http = createServer();
const io = new Server(http, { serveClient: false, perMessageDeflate: false });
const users = new Map();
const source = Buffer.alloc(Number(process.argv[2]), 1);
io.on('connection', (socket) => {
  const items = Array.from({ length: 100 }, (_, index) => ({ index }));
  users.set(socket.id, { items, key: source.length > 0 && createSecretKey(source) });
  socket.on('join_room', ({ clientKey }, acknowledge) => {
    socket.join(clientKey);
    acknowledge({ room: clientKey });
  });
  socket.on('disconnect', () => users.delete(socket.id));
});
process.on('message', () => {
  globalThis.gc();
  globalThis.gc();
  const { heapUsed, external } = process.memoryUsage();
  const code = v8.getHeapSpaceStatistics().filter(({ space_name: name }) => /code|trusted/.test(name));
  process.send(code.reduce((rest, { space_used_size: bytes }) => rest - bytes, heapUsed + external));
});
process.on('disconnect', () => process.exit());
http.listen(0, '127.0.0.1', () => process.send(http.address().port));
