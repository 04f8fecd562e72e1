/**
 * Sends the pings of Engine.IO for all connections from a single timer. Pings due within the same 100 ms are sent
 * together. With a timer per connection, each ping and pong would wake worker, proxy and client separately, which costs
 * far more CPU than the ping itself.
 */
import type { Server } from 'socket.io';

const STEP_MS = 100;

/**
 * Engine.IO's ping (`2`) as a complete WebSocket frame, which Engine.IO writes unchanged to a `ws` socket. For other
 * transports, or with compression, Engine.IO encodes the ping itself. Engine.IO sets `compress` in this object.
 */
const PING_OPTIONS = { compress: false, wsPreEncodedFrame: [Buffer.from([0x81, 0x01, 0x32])] };

/** Private members of an Engine.IO connection. */
interface Connection {
  id: string;
  protocol: number;
  pingIntervalTimer: NodeJS.Timeout | null;
  /** Timer that runs while the client has not yet replied to a ping. */
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

/**
 * Replaces the timers of Engine.IO. Must be called before the first connection.
 * @returns a function that stops the timer
 */
export function sharePingTimer(io: Server): () => void {
  const engine = io.engine as unknown as Engine;
  const { pingInterval } = engine.opts;
  const steps = Math.max(1, Math.floor(pingInterval / STEP_MS));
  const stepMs = pingInterval / steps;
  // Session ids by the step in which they are pinged. Ids are stored instead of connections, so that closed connections
  // can be garbage-collected.
  const schedule: string[][] = Array.from({ length: steps }, () => []);
  const startMs = performance.now();
  let step = 0;

  engine.on('connection', (connection) => {
    if (connection.protocol === 3) return; // The client sends the pings in protocol 3.
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

/**
 * Sends a ping like Engine.IO's own timer.
 * @returns false if the connection has closed
 */
function ping(connection: Connection | undefined): boolean {
  if (connection === undefined) return false;
  if (connection.pingTimeoutTimer !== null) return true; // The last ping has no reply yet.
  connection.hasRefreshedPingTimeout = false;
  connection.sendPacket('ping', undefined, PING_OPTIONS);
  connection.resetPingTimeout();
  return true;
}
