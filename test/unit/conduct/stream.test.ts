import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { it } from 'node:test';
import { Stream, type StreamSocket } from '../../../plugin/conduct/hosts/stream.ts';

/** Two ends of a connection. What is sent on a broken one is lost. */
function connection(): { ends: [StreamSocket, StreamSocket]; breakOff(): void } {
  const emitters = [new EventEmitter(), new EventEmitter()] as const;
  let isOpen = true;
  const end = (own: EventEmitter, other: EventEmitter): StreamSocket => ({
    get connected() {
      return isOpen;
    },
    emit: (_event, number, message, onReceived) =>
      isOpen && other.emit('message', number, message, () => isOpen && onReceived()),
    on: (_event, listener) => own.on('message', listener as () => void),
  });
  const ends: [StreamSocket, StreamSocket] = [end(emitters[0], emitters[1]), end(emitters[1], emitters[0])];
  return {
    ends,
    breakOff: () => {
      isOpen = false;
    },
  };
}

it('a stream delivers each message once and in order, through breaks', () => {
  const heard: number[] = [];
  const sender = new Stream<number, never>(() => {});
  const receiver = new Stream<never, number>((message) => heard.push(message));
  sender.send(1);
  const first = connection();
  receiver.attach(first.ends[1]);
  sender.attach(first.ends[0]);
  sender.send(2);
  assert.equal(sender.pending, 0);
  first.breakOff();
  sender.send(3);
  assert.deepEqual([heard, sender.pending], [[1, 2], 1]);
  const second = connection();
  receiver.attach(second.ends[1]);
  sender.attach(second.ends[0]);
  sender.send(4);
  assert.deepEqual([heard, sender.pending], [[1, 2, 3, 4], 0]);
});

it('a message whose acknowledgement was lost is sent again, and delivered once', () => {
  const heard: number[] = [];
  const sender = new Stream<number, never>(() => {});
  const receiver = new Stream<never, number>((message) => {
    heard.push(message);
    if (message === 1) first.breakOff();
  });
  const first = connection();
  // The acknowledgement does not get through.
  const deaf: StreamSocket = {
    connected: true,
    emit: (...args) => first.ends[0].emit(args[0], args[1], args[2], () => {}),
    on: () => {},
  };
  receiver.attach(first.ends[1]);
  sender.attach(deaf);
  sender.send(1);
  assert.deepEqual([heard, sender.pending], [[1], 1]);
  const second = connection();
  receiver.attach(second.ends[1]);
  sender.attach(second.ends[0]);
  assert.deepEqual([heard, sender.pending], [[1], 0]);
});
