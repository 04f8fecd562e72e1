import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/**
 * Opens a WebSocket by hand. It offers compression and never responds.
 * @returns the socket, and the head of the response
 */
export async function rawWebSocket(port: number): Promise<{ socket: Socket; head: string }> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write(
    'GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n' +
      'Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n',
  );
  const [data] = await once(socket, 'data');
  const head = String(data);
  assert.match(head, /^HTTP\/1.1 101/);
  return { socket, head };
}
