/**
 * Transports the messages between a run and its engines, here between threads of a process. Every carrier delivers each message completely
 * to all other participants, in the sender's order, and not back to the sender.
 */
import { BroadcastChannel } from 'node:worker_threads';

export interface Carrier<Sent, Received> {
  /** Called for each message; set it right after opening the carrier, before a message can arrive. */
  onMessage: (message: Received) => void;
  /** Does nothing on a closed carrier. */
  send(message: Sent): void;
  /** Idempotent. Nothing is received afterwards. */
  close(): void;
}

/** Opens a carrier between threads of a process. Does not keep the process running. @param runId distinguishes several runs in a process */
export function openThreadCarrier<Sent, Received>(runId: string): Carrier<Sent, Received> {
  const channel = new BroadcastChannel(`socketio-capacity:${runId}`);
  let isOpen = true;
  const carrier: Carrier<Sent, Received> = {
    onMessage: () => {},
    send(message) {
      if (isOpen) channel.postMessage(message);
    },
    close() {
      isOpen = false;
      channel.close();
    },
  };
  channel.onmessage = (event) => carrier.onMessage((event as { data: Received }).data);
  // Missing in Node's types.
  (channel as unknown as { unref(): void }).unref();
  return carrier;
}
