/** Engine.IO's ping for connections of which nothing is kept: one timer goes round all of them once in an interval. */
import type { WebSocket } from 'ws';

const STEP_MS = 100;
const PING = '2';

/**
 * @param clients in the order in which they have come; those that come during a round belong to it
 * @returns a function that stops the timer
 */
export function pingInTurn(clients: Set<WebSocket>, intervalMs: number): () => void {
  const steps = Math.max(1, Math.floor(intervalMs / STEP_MS));
  let step = 0;
  let pinged = 0;
  let round = clients.values();
  const timer = setInterval(() => {
    step++;
    // Evenly over the round, as Socket.IO's timers are over connections that came evenly.
    while (pinged < (clients.size * step) / steps) {
      const { value: ws, done } = round.next();
      if (done) break;
      ws.send(PING);
      pinged++;
    }
    if (step < steps) return;
    step = 0;
    pinged = 0;
    round = clients.values();
  }, intervalMs / steps).unref();
  return () => clearInterval(timer);
}
