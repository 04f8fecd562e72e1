/** Main module of a fleet process, which holds a part of the run's connections. */

import { once } from 'node:events';
import { setKnownSecrets } from '../../../protocol/base/secrets/known-secrets.ts';
import { sendToParent } from '../../../protocol/base/send-to-parent.ts';
import { TimerLag } from '../event-loop-watch.ts';
import type { FleetAnswer, FleetCommand, FleetStart } from '../fleet-messages.ts';
import { Outbox } from '../outbox.ts';
import { ConnectionHolder } from './connection-holder.ts';

const STATUS_INTERVAL_MS = 100;

const [start] = (await once(process, 'message')) as [FleetStart];
setKnownSecrets(start.secrets);

// Types of answers that may wait, so that they share a message with later answers. The delay changes no measurement,
// because these answers contain their own times.
const DEFERRABLE = new Set<FleetAnswer['op']>(['opened', 'left', 'status']);
const FLUSH_DELAY_MS = 20;
/**
 * Largest number of batches that the channel to the engine has not sent yet. Above it, events for the user's functions
 * are dropped, because the functions are slower than the server.
 */
const MAX_UNSENT = 50;
let unsent = 0;
const outbox = new Outbox<FleetAnswer>(FLUSH_DELAY_MS, (batch) => {
  unsent++;
  sendToParent(batch, () => unsent--);
});
function answer(one: FleetAnswer): void {
  if (one.op === 'event' && one.each && unsent > MAX_UNSENT) {
    holder.state.counts.eventsDropped++;
    return;
  }
  outbox.add(one, DEFERRABLE.has(one.op));
}
const holder = await ConnectionHolder.create(start, answer);

let lastStatus = '';
const lag = new TimerLag(STATUS_INTERVAL_MS);
const statusTimer = setInterval(() => {
  const status = { ...holder.state.status(), loopLateMs: lag.tick() };
  const text = JSON.stringify(status);
  if (text !== lastStatus) answer(status);
  lastStatus = text;
}, STATUS_INTERVAL_MS);

process.on('message', (commands: FleetCommand[]) => {
  for (const command of commands) {
    if (command.op === 'exit') close();
    else holder.run(command);
  }
});
process.on('disconnect', close);
// Ctrl-C and `timeout` signal the whole process group. The fleet ignores signals: its parent decides when it ends.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});

if (process.connected) answer({ op: 'answer', requestId: 0, answer: undefined });
else close(); // The parent process has died while the client was being loaded.

function close(): void {
  clearInterval(statusTimer);
  outbox.close();
  holder.close();
  process.removeAllListeners('disconnect');
  if (process.connected) process.disconnect();
}
