/** Module preloaded into the worker. It puts the id of a broadcast at the place that the bench requests. */
import { Adapter } from 'socket.io-adapter';

interface Message {
  seq: number;
  data: string;
}

const SHAPES: Record<string, (message: Message) => unknown> = {
  deep: ({ seq, data }) => ({ data, nested: { message: { seq } } }),
  list: ({ seq, data }) => ({
    items: [data.slice(0, data.length / 2), data.slice(data.length / 2)].map((half, at) => ({
      data: half,
      seq: `${seq}-${at}`,
    })),
  }),
};
let shape: ((message: Message) => unknown) | undefined;
process.on('message', (name: string) => {
  shape = SHAPES[name];
});

const { broadcast } = Adapter.prototype;
Adapter.prototype.broadcast = function (this: Adapter, packet, options) {
  const [event, message] = packet.data;
  broadcast.call(this, shape ? { ...packet, data: [event, shape(message)] } : packet, options);
};
