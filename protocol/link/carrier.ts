/**
 * Carriers transport messages between a run and its engines. The carrier in this file connects threads of a process.
 * Every carrier delivers each message completely and in order to all other participants, but not to the sender.
 */
import { BroadcastChannel } from 'node:worker_threads';

export interface MessageCarrier<Sent, Received> {
  /** Called for each message. It must be set directly after the carrier is opened, before a message can arrive. */
  onMessage: (message: Received) => void;
  /** Sends a message; does nothing if the carrier is closed. */
  send(message: Sent): void;
  /** Closes the carrier. Nothing is received afterwards. A second call does nothing. */
  close(): void;
}

/**
 * Opens a carrier between threads of a process. It does not keep the process running.
 * @param runId distinguishes several runs in the same process
 */
export function openThreadCarrier<Sent, Received>(runId: string): MessageCarrier<Sent, Received> {
  const channel = new BroadcastChannel(`socketio-capacity:${runId}`);
  let isOpen = true;
  const carrier: MessageCarrier<Sent, Received> = {
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
  // Node's types lack the method `unref` of this class.
  (channel as unknown as { unref(): void }).unref();
  return carrier;
}
