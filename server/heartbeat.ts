/**
 * Engine.IO's heartbeat from one timer for all connections: pings that are due within the same tenth of a second are
 * sent together. With a timer per connection, each ping wakes worker, proxy and client separately, and so does each
 * pong, which costs far more than the ping itself.
 */
import type { Server } from 'socket.io';

const STEP_MS = 100;

/**
 * Engine.IO's ping, `2`, as a whole WebSocket frame, which it writes to a `ws` socket as it is; on any other transport, and
 * with compression, it encodes the ping itself. Engine.IO notes in the options whether to compress.
 */
const PING_OPTIONS = { compress: false, wsPreEncodedFrame: [Buffer.from([0x81, 0x01, 0x32])] };

/** The parts of an Engine.IO connection that have no public names. */
interface Connection {
  id: string;
  protocol: number;
  pingIntervalTimer: NodeJS.Timeout | null;
  /** Set while a ping is unanswered. */
  pingTimeoutTimer: NodeJS.Timeout | null;
  hasRefreshedPingTimeout: boolean;
  sendPacket(type: 'ping', data: undefined, options: typeof PING_OPTIONS): void;
  resetPingTimeout(): void;
}

interface Engine {
  opts: { pingInterval: number };
  clients: Record<string, Connection>;
  on(event: 'connection', listener: (connection: Connection) => void): void;
}

/** To be called before the first connection. @returns a function that stops the timer */
export function sharePingTimer(io: Server): () => void {
  const engine = io.engine as unknown as Engine;
  const { pingInterval } = engine.opts;
  const steps = Math.max(1, Math.floor(pingInterval / STEP_MS));
  const stepMs = pingInterval / steps;
  // By the step at which they are pinged. Session ids rather than connections, so that closed ones can be collected.
  const schedule: string[][] = Array.from({ length: steps }, () => []);
  const startMs = performance.now();
  let step = 0;

  engine.on('connection', (connection) => {
    if (connection.protocol === 3) return; // its client sends the pings
    clearTimeout(connection.pingIntervalTimer ?? undefined);
    connection.pingIntervalTimer = null;
    schedule[step % steps]?.push(connection.id);
  });

  const timer = setInterval(() => {
    const dueStep = Math.floor((performance.now() - startMs) / stepMs);
    while (step < dueStep) {
      step++;
      schedule[step % steps] = schedule[step % steps]?.filter((id) => ping(engine.clients[id])) ?? [];
    }
  }, stepMs).unref();
  return () => clearInterval(timer);
}

/** Does what Engine.IO's own timer does. @returns false if the connection has closed */
function ping(connection: Connection | undefined): boolean {
  if (connection === undefined) return false;
  if (connection.pingTimeoutTimer !== null) return true; // the last ping is not answered yet
  connection.hasRefreshedPingTimeout = false;
  connection.sendPacket('ping', undefined, PING_OPTIONS);
  connection.resetPingTimeout();
  return true;
}
