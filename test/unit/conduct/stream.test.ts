import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { it } from 'node:test';
import { z } from 'zod';
import { ReliableStream, type ReliableStreamSocket } from '../../../plugin/conduct/hosts/stream.ts';

/** Two ends of a connection that can break. Messages on a broken connection are lost. */
function connection() {
  const emitters = [new EventEmitter(), new EventEmitter()] as const;
  let isOpen = true;
  const end = (own: EventEmitter, other: EventEmitter): ReliableStreamSocket => ({
    get connected() {
      return isOpen;
    },
    emit: (_event, number, message, onReceived) =>
      isOpen && other.emit('message', number, message, () => isOpen && onReceived()),
    on: (_event, listener) => own.on('message', listener as () => void),
  });
  const breakOff = () => {
    isOpen = false;
  };
  return { ends: [end(emitters[0], emitters[1]), end(emitters[1], emitters[0])] as const, breakOff };
}

function collecting(received: number[], then: (message: number) => void = () => {}, problems: string[] = []) {
  const onMessage = (message: number) => {
    received.push(message);
    then(message);
  };
  return { schema: z.number(), onMessage, onMalformed: (problem: string) => void problems.push(problem) };
}

it('resends a message whose acknowledgement was lost, delivers it once, and keeps the order', () => {
  const received: number[] = [];
  const sender = new ReliableStream<number, number>(collecting([]));
  const receiver = new ReliableStream<never, number>(
    collecting(received, (message) => message === 1 && first.breakOff()),
  );
  const first = connection();
  // Loses acknowledgements.
  const deaf: ReliableStreamSocket = {
    connected: true,
    emit: (...args) => first.ends[0].emit(args[0], args[1], args[2], () => {}),
    on: () => {},
  };
  receiver.attach(first.ends[1]);
  sender.attach(deaf);
  sender.send(1);
  sender.send(2);
  assert.deepEqual([received, sender.pending], [[1], 2]);
  const second = connection();
  receiver.attach(second.ends[1]);
  sender.attach(second.ends[0]);
  sender.send(3);
  assert.deepEqual([received, sender.pending], [[1, 2, 3], 0]);
});

it('reports and skips invalid messages of a host, and delivers the next valid message', () => {
  const [received, problems]: [number[], string[]] = [[], []];
  const receiver = new ReliableStream<never, number>(collecting(received, undefined, problems));
  const { ends } = connection();
  receiver.attach(ends[1]);
  const emit = ends[0].emit as (...row: unknown[]) => void;
  emit('message', 1, 1, () => {});
  emit('message', 2, null, () => {});
  for (const number of [4, 1e308, Number.NaN, -1, 0, 1.5, '3', null, undefined, {}])
    emit('message', number, 9, () => {});
  emit('message', 3, 3, () => {});
  assert.deepEqual(received, [1, 3]);
  assert.equal(problems.length, 8, problems.join('\n'));
});
