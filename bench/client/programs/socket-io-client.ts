/** Program for the client bench with the official client. Each connection has its own transport. */
import { io, type Socket } from 'socket.io-client';
import { JOIN_MESSAGE, loadFromArguments, loadTlsOptions, runLoadProgram } from './load-program.ts';

const load = loadFromArguments();
const options = { transports: ['websocket'], forceNew: true, reconnection: false, ...loadTlsOptions(load) };
const open: Socket[] = [];
let joined = 0;
let received = 0;

function connectOne(): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = io(load.url, options);
    open.push(socket);
    socket.on('connect_error', reject);
    socket.on('broadcast', ({ seq }: { seq: number }) => {
      if (seq > 0) received++;
    });
    socket.on('connect', () => {
      socket.emit(...JOIN_MESSAGE, () => {
        joined++;
        resolve();
      });
    });
  });
}

async function counts() {
  for (const socket of open) socket.disconnect();
  return { joined, received };
}

await runLoadProgram(load, connectOne, counts);
