/**
 * One connection that sends nothing but answers to pings, held for longer than the ping cycle: what idle time-outs in
 * between leave of the connections that a run holds.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { endingOf } from '../../run/measurements/end-words.ts';
import { connectClient } from '../../run/receivers/connect-client.ts';
import type { End } from '../../run/receivers/run-connection.ts';
import { check, type Finding, type Subject, type TargetCheck } from './target-check.ts';

/** Longer cycles are not waited for. */
const MAX_HOLD_MS = 120_000;
const MARGIN_MS = 3000;

/** Shorter than a round trip may take. */
const MIN_PING_TIMEOUT_MS = 500;
/** A peer that sends no status, or no Close frame at all. */
const CODES_WITHOUT_FRAME = ['1005', '1006'];

const LONGER =
  'nginx: proxy_read_timeout and proxy_send_timeout; HAProxy: timeout tunnel, and for polling timeout client and server; cloud load balancers: the idle timeout';

/** As Engine.IO's open packet gives it, in ms. */
interface PingCycle {
  pingInterval: number;
  pingTimeout: number;
}

/** How a connection ended before it was to. Times in ms. */
interface Cut {
  /** As the client names it. */
  reason: string;
  /** What was seen beside the reason. */
  found?: End['found'];
  ageMs: number;
  /** Since the last packet in either direction. */
  silentMs: number;
}

/** @param onHold told how long it will take */
export function checkIdle({ clients, signal }: Subject, onHold: (seconds: number) => void): Promise<TargetCheck> {
  return check('idle', 'one silent connection, held for longer than the ping cycle', async () => {
    const { socket } = await connectClient(clients.next(), signal);
    const openedAtMs = performance.now();
    const { heartbeat } = (await socket.describe()) ?? {};
    const cycle = { pingInterval: heartbeat?.pingIntervalMs ?? 0, pingTimeout: heartbeat?.pingTimeoutMs ?? 0 };
    const ended = socket.ended.then(({ reason, end }): Cut => {
      const nowMs = performance.now();
      const silentMs = nowMs - (end?.heartbeat.lastPacketAtMs ?? nowMs);
      return { reason, ...(end && { found: end.found }), ageMs: nowMs - openedAtMs, silentMs };
    });
    const holdMs = Math.min(cycle.pingInterval + cycle.pingTimeout + MARGIN_MS, MAX_HOLD_MS);
    onHold(holdMs / 1000);
    const over = new AbortController();
    const held = delay(holdMs, undefined, { signal: AbortSignal.any([signal, over.signal]) }).catch(() => undefined);
    const cut = await Promise.race([ended, held]);
    over.abort();
    const pings = (await socket.describe())?.heartbeat?.pings ?? 0;
    void socket.disconnect();
    const heldSeconds = seconds(performance.now() - openedAtMs);
    if (!cut && signal.aborted) return { status: 'skipped', found: `stopped after ${heldSeconds} s` };
    return cut ? { status: 'failed', ...explain(cut, cycle) } : survived(holdMs, pings, cycle);
  });
}

function survived(holdMs: number, pings: number, cycle: PingCycle): Finding {
  const wholeMs = cycle.pingInterval + cycle.pingTimeout;
  const kept = `it stayed open for ${seconds(holdMs)} s, with ${pings} ${pings === 1 ? 'ping' : 'pings'}`;
  if (holdMs > wholeMs) return { status: 'ok', found: `${kept}; the ping cycle is ${seconds(wholeMs)} s` };
  const found = `${kept}; the ping cycle is ${seconds(wholeMs)} s, so a longer time-out was not seen`;
  return {
    status: 'warning',
    found,
    fix: `make sure that idle time-outs in between are longer than ${seconds(cycle.pingInterval)} s: ${LONGER}`,
  };
}

/** A time-out of something in between ends a connection after silence; everything else, whenever it likes. */
export function explain({ reason, found, ageMs, silentMs }: Cut, { pingInterval, pingTimeout }: PingCycle) {
  const [age, silence, cycleSeconds] = [ageMs, silentMs, pingInterval + pingTimeout].map(seconds);
  const ending = found && endingOf(found);
  if (ending?.isExplained) return { found: `after ${age} s, ${ending.text}`, ...(ending.fix && { fix: ending.fix }) };
  const [, code] = /^closed_(\d+)$/.exec(found?.cause ?? '') ?? [];
  if (ending && code !== undefined && !CODES_WITHOUT_FRAME.includes(code)) {
    return {
      found: `after ${age} s, ${ending.text}`,
      fix: 'find where the server closes a WebSocket with this code, and give clients what they lack; an idle time-out in between sends no code',
    };
  }
  if (reason !== 'io server disconnect' && pingTimeout < MIN_PING_TIMEOUT_MS) {
    return {
      found: `cut after ${age} s (${reason}): by its handshake, the server gives a client only ${pingTimeout} ms to answer a ping`,
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
      fix: 'let it keep clients that only listen; does it wait for a message, such as an authentication?',
    };
  }
  // Up to the interval, nothing but its own time-out tells a proxy to end it.
  if (silentMs < pingInterval + MARGIN_MS && silentMs > 1000) {
    return {
      found: `cut after ${age} s, ${silence} s of them silent (${reason}): an idle time-out in between of about ${Math.round(silentMs / 1000)} s is shorter than the ping cycle of ${cycleSeconds} s`,
      fix: `raise it above ${cycleSeconds} s (${LONGER}); or let the server ping more often (pingInterval)`,
    };
  }
  return {
    found: `cut after ${age} s, ${silence} s after the last packet (${reason}): too early to be an idle time-out`,
    fix: 'see the logs of the proxy and of the server at that time',
  };
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(ms < 10_000 ? 1 : 0);
}
