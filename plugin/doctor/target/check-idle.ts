/**
 * Holds one silent connection, which sends only pongs, for longer than the ping interval and timeout, to find timeouts
 * of proxies for idle connections.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { describeClose } from '../../run/measurements/close-descriptions.ts';
import { connectClient } from '../../run/receivers/connect-client.ts';
import type { OfficialClientEnd } from '../../run/receivers/run-connection.ts';
import { type ExaminedTarget, runTargetCheck, type TargetCheck, type TargetFinding } from './target-check.ts';

/** Longest time to hold the connection, in milliseconds, even if the ping interval is longer. */
const MAX_HOLD_MS = 120_000;
const MARGIN_MS = 3000;

/**
 * Minimum ping timeout in milliseconds. A shorter timeout is less than a slow round trip, so the server would drop
 * healthy clients.
 */
const MIN_PING_TIMEOUT_MS = 500;
/** WebSocket close codes 1005 and 1006: the server sent no status, or no Close frame. */
const CODES_WITHOUT_FRAME = ['1005', '1006'];

const LONGER =
  'nginx: proxy_read_timeout and proxy_send_timeout; HAProxy: timeout tunnel, and for polling timeout client and server; cloud load balancers: the idle timeout';

/** Heartbeat settings from the open packet of Engine.IO, in milliseconds. */
interface PingCycle {
  pingInterval: number;
  pingTimeout: number;
}

/** A connection that closed while it was held. */
interface EarlyClose {
  /** Socket.IO's disconnect reason. */
  reason: string;
  found?: OfficialClientEnd['found'];
  ageMs: number;
  /** Time since either side sent the last packet, in milliseconds. */
  silentMs: number;
}

/**
 * Holds a silent connection.
 * @param onHold called at the start with the duration for which the connection is held
 */
export function checkIdle(
  { clients, signal }: ExaminedTarget,
  onHold: (seconds: number) => void,
): Promise<TargetCheck> {
  return runTargetCheck('idle', 'one silent connection, held for longer than the ping cycle', async () => {
    const { socket } = await connectClient(clients.next(), signal);
    const openedAtMs = performance.now();
    const { heartbeat } = (await socket.describe()) ?? {};
    const cycle = { pingInterval: heartbeat?.pingIntervalMs ?? 0, pingTimeout: heartbeat?.pingTimeoutMs ?? 0 };
    const ended = socket.ended.then(({ reason, end }): EarlyClose => {
      const nowMs = performance.now();
      const silentMs = nowMs - (end?.heartbeat.lastPacketAtMs ?? nowMs);
      return { reason, ...(end && { found: end.found }), ageMs: nowMs - openedAtMs, silentMs };
    });
    const holdMs = Math.min(cycle.pingInterval + cycle.pingTimeout + MARGIN_MS, MAX_HOLD_MS);
    onHold(holdMs / 1000);
    const holdOver = new AbortController();
    const held = delay(holdMs, undefined, { signal: AbortSignal.any([signal, holdOver.signal]) }).catch(
      () => undefined,
    );
    const earlyClose = await Promise.race([ended, held]);
    holdOver.abort();
    const pings = (await socket.describe())?.heartbeat?.pings ?? 0;
    void socket.disconnect();
    const heldSeconds = seconds(performance.now() - openedAtMs);
    if (!earlyClose && signal.aborted) return { status: 'skipped', found: `stopped after ${heldSeconds} s` };
    return earlyClose ? { status: 'failed', ...explainEarlyClose(earlyClose, cycle) } : survived(holdMs, pings, cycle);
  });
}

function survived(holdMs: number, pings: number, cycle: PingCycle): TargetFinding {
  const wholeMs = cycle.pingInterval + cycle.pingTimeout;
  const kept = `it stayed open for ${seconds(holdMs)} s, with ${pings} ${pings === 1 ? 'ping' : 'pings'}`;
  if (holdMs > wholeMs) return { status: 'ok', found: `${kept}; the ping cycle is ${seconds(wholeMs)} s` };
  const found = `${kept}; the ping cycle is ${seconds(wholeMs)} s, so longer time-outs were not tested`;
  return {
    status: 'warning',
    found,
    fix: `make sure that the idle time-outs of all proxies are longer than ${seconds(cycle.pingInterval)} s: ${LONGER}`,
  };
}

/**
 * Explains a connection that closed too early. A proxy's timeout for idle connections closes only connections that were
 * silent for some time.
 */
export function explainEarlyClose(
  { reason, found, ageMs, silentMs }: EarlyClose,
  { pingInterval, pingTimeout }: PingCycle,
) {
  const [age, silence, cycleSeconds] = [ageMs, silentMs, pingInterval + pingTimeout].map(seconds);
  const ending = found && describeClose(found);
  if (ending?.isExplained) return { found: `after ${age} s, ${ending.text}`, ...(ending.fix && { fix: ending.fix }) };
  const [, code] = /^closed_(\d+)$/.exec(found?.cause ?? '') ?? [];
  if (ending && code !== undefined && !CODES_WITHOUT_FRAME.includes(code)) {
    return {
      found: `after ${age} s, ${ending.text}`,
      fix: 'find where the server closes a WebSocket with this code, and give clients what it requires; a proxy’s idle time-out sends no code',
    };
  }
  if (reason !== 'io server disconnect' && pingTimeout < MIN_PING_TIMEOUT_MS) {
    return {
      found: `closed after ${age} s (${reason}): according to its handshake, the server gives a client only ${pingTimeout} ms to answer a ping`,
      fix: 'raise `pingTimeout` of the server, in ms; the default of Socket.IO is 20000',
    };
  }
  if (reason === 'ping timeout') {
    return {
      found: `no ping came for ${silence} s, although the server pings every ${seconds(pingInterval)} s: a firewall or proxy in between dropped the connection silently`,
      fix: `give firewalls and NAT an idle time-out longer than ${cycleSeconds} s, or let the server ping more often (pingInterval)`,
    };
  }
  if (reason === 'io server disconnect') {
    return {
      found: `the server itself disconnected it after ${age} s`,
      fix: 'let it keep clients that only listen; it may wait for a message, such as an authentication',
    };
  }
  // Nothing is sent between two pings, so only a timeout for idle connections can have closed the connection.
  if (silentMs < pingInterval + MARGIN_MS && silentMs > 1000) {
    return {
      found: `closed after ${age} s, ${silence} s of them silent (${reason}): a proxy’s idle time-out of about ${Math.round(silentMs / 1000)} s is shorter than the ping cycle of ${cycleSeconds} s`,
      fix: `raise it above ${cycleSeconds} s (${LONGER}); or let the server ping more often (pingInterval)`,
    };
  }
  return {
    found: `closed after ${age} s, ${silence} s after the last packet (${reason}): too early to be an idle time-out`,
    fix: 'see the logs of the proxy and of the server at that time',
  };
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(ms < 10_000 ? 1 : 0);
}
