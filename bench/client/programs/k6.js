/** The same flow for k6 (https://k6.io), whose runtime is not Node: connect, join the room, answer pings, count. */

import { Counter } from 'k6/metrics';
import { setTimeout } from 'k6/timers';
import { WebSocket } from 'k6/websockets';

const { TARGET_URL, CONNECTIONS, RATE_PER_SEC, LEAD_SECONDS, HOLD_SECONDS } = __ENV;
const connections = Number(CONNECTIONS);
const rampSeconds = connections / Number(RATE_PER_SEC);
const received = new Counter('broadcasts');

export const options = {
  scenarios: {
    ramp: {
      executor: 'constant-arrival-rate',
      startTime: `${LEAD_SECONDS}s`,
      rate: Number(RATE_PER_SEC),
      duration: `${rampSeconds}s`,
      preAllocatedVUs: connections,
      gracefulStop: `${HOLD_SECONDS}s`,
    },
  },
};

export function setup() {
  console.log('ready');
}

export default function () {
  const socket = new WebSocket(`${TARGET_URL.replace(/^http/, 'ws')}/socket.io/?EIO=4&transport=websocket`);
  socket.onmessage = ({ data }) => {
    if (data.startsWith('42["broadcast"')) {
      if (JSON.parse(data.slice(2))[1].seq > 0) received.add(1);
    } else if (data === '2') socket.send('3');
    else if (data.startsWith('0{')) socket.send('40');
    else if (data.startsWith('40{')) socket.send('420["join_room",{"clientKey":"capacity"}]');
  };
  setTimeout(() => socket.close(), (rampSeconds + Number(HOLD_SECONDS)) * 1000);
}
