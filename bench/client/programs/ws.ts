/** Program for the client bench with a minimal implementation of Engine.IO and Socket.IO on `ws`. */
import { WebSocket } from 'ws';
import { JOIN_MESSAGE, loadFromArguments, loadTlsOptions, runLoadProgram } from './load-program.ts';

const load = loadFromArguments();
const url = `${load.url.replace(/^http/, 'ws')}/socket.io/?EIO=4&transport=websocket`;
const join = `420${JSON.stringify(JOIN_MESSAGE)}`;
const options = { perMessageDeflate: false, ...loadTlsOptions(load) };
const open: WebSocket[] = [];
let joined = 0;
let received = 0;

function connectOne(): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, options);
    open.push(socket);
    socket.on('error', reject);
    socket.on('message', (data) => {
      const text = String(data);
      if (text.startsWith('42["broadcast"')) {
        const [, broadcast] = JSON.parse(text.slice(2));
        if (broadcast.seq > 0) received++;
      } else if (text === '2') socket.send('3');
      else if (text.startsWith('0{')) socket.send('40');
      else if (text.startsWith('40{')) socket.send(join);
      else if (text.startsWith('430[')) {
        joined++;
        resolve();
      }
    });
  });
}

async function counts() {
  for (const socket of open) socket.terminate();
  return { joined, received };
}

await runLoadProgram(load, connectOne, counts);
