/**
 * The bench's flow for k6 (https://k6.io), whose runtime is not Node: connect, join the room, answer pings, count. k6
 * creates all virtual users before it runs the first one: `start` is printed before, `ready` after their creation.
 */
import { Counter } from 'k6/metrics';
import { WebSocket } from 'k6/websockets';

const { url, connections, ratePerSec } = JSON.parse(__ENV.LOAD);
const leadSeconds = Number(__ENV.LEAD_SECONDS);
const joined = new Counter('joined');
const received = new Counter('received');

export const options = {
  scenarios: {
    ramp: {
      executor: 'constant-arrival-rate',
      startTime: `${leadSeconds}s`,
      rate: ratePerSec,
      duration: `${connections / ratePerSec}s`,
      preAllocatedVUs: connections,
      // Long enough, because the bench ends k6 by SIGINT.
      gracefulStop: '10m',
    },
  },
};

if (__VU === 0) console.log('start');

export function setup() {
  console.log('ready');
}

export default function () {
  const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/socket.io/?EIO=4&transport=websocket`);
  socket.onmessage = ({ data }) => {
    if (data.startsWith('42["broadcast"')) {
      if (JSON.parse(data.slice(2))[1].seq > 0) received.add(1);
    } else if (data === '2') socket.send('3');
    else if (data.startsWith('0{')) socket.send('40');
    else if (data.startsWith('40{')) socket.send('420["join_room",{"clientKey":"capacity"}]');
    else if (data.startsWith('430[')) joined.add(1);
  };
}

export function handleSummary({ metrics }) {
  const count = (name) => metrics[name]?.values.count ?? 0;
  return { stdout: `${JSON.stringify({ joined: count('joined'), received: count('received') })}\n` };
}
