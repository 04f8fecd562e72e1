/**
 * What carries the messages between a run and its engines. Today all of them are threads of one process; whatever else
 * may lie between them has to keep the same contract: every message reaches everybody else on the carrier, whole and in
 * the order of its sender, and nobody hears itself.
 */
import { BroadcastChannel } from 'node:worker_threads';

export interface Carrier<Sent, Received> {
  /** Called for each message; whoever opens the carrier sets it before anything can arrive. */
  onMessage: (message: Received) => void;
  /** Does nothing on a closed carrier. */
  send(message: Sent): void;
  /** Idempotent. Nothing is received afterwards. */
  close(): void;
}

/**
 * Between the threads of one process. It keeps no process running.
 * @param runId two runs in one process do not hear each other
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
  // Node's types leave it out.
  (channel as unknown as { unref(): void }).unref();
  return carrier;
}
