/**
 * Transports the messages between a run and its engines. Today all of them are threads of one process; any other
 * carrier has to keep the same contract: every message reaches all others on the carrier, whole and in the order of its
 * sender, and does not return to its sender.
 */
import { BroadcastChannel } from 'node:worker_threads';

export interface Carrier<Sent, Received> {
  /** Called for each message; to be set right after opening the carrier, before a message can arrive. */
  onMessage: (message: Received) => void;
  /** Does nothing on a closed carrier. */
  send(message: Sent): void;
  /** Idempotent. Nothing is received afterwards. */
  close(): void;
}

/**
 * Between the threads of one process. Does not keep the process running.
 * @param runId keeps several runs in one process apart
 */
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
