/** Collects the figures of the live line. */
import { total } from '../../report/text/format.ts';
import { lostOf } from '../result/connections.ts';
import type { Conductor } from '../run/conductor.ts';
import type { RunContext } from '../run/context.ts';
import { totalSeconds } from '../script/load/phases.ts';
import type { LiveFacts } from './terminal-line.ts';

/** What the conductor does beyond its settings: final plateau, drain, disconnect, residual. */
const MEASURING_SECONDS = 12;
/** The rate is computed over this time. */
const RATE_WINDOW_MS = 900;

export function liveFacts(
  conductor: Conductor,
  { measurements, config, link, population }: RunContext,
): () => LiveFacts {
  const startedMs = performance.now();
  const { delivery, broadcasts } = config;
  const count = delivery ? (delivery.publish?.count ?? 0) : broadcasts.count;
  const seconds = delivery?.seconds ?? count * broadcasts.interval;
  const planSeconds = totalSeconds(config.phases) + config.hold + seconds + MEASURING_SECONDS;
  let last = { connections: 0, atMs: startedMs };
  let ratePerSec = 0;
  return () => {
    const connected = population.connections();
    const { failures, ended, received } = link.status;
    const nowMs = performance.now();
    if (nowMs - last.atMs > RATE_WINDOW_MS) {
      ratePerSec = ((connected - last.connections) * 1000) / (nowMs - last.atMs);
      last = { connections: connected, atMs: nowMs };
    }
    return {
      stage: conductor.stage,
      connected,
      failed: notLost(failures, total(lostOf(ended))),
      lost: lostOf(ended),
      target: measurements.targetConnections,
      ratePerSec: conductor.stage === 'ramp' ? ratePerSec : 0,
      broadcasts: { sent: measurements.sent.length, planned: count, delivered: received },
      secondsLeft: planSeconds - (nowMs - startedMs) / 1000,
    };
  };
}

/** A virtual user whose connection was lost has failed, too: here each of them counts once. */
function notLost(failures: Record<string, number>, lost: number): Record<string, number> {
  const isEnd = ([cause]: [string, number]) => cause.startsWith('disconnected_');
  const all = Object.entries(failures);
  const ended = total(Object.fromEntries(all.filter(isEnd)));
  return ended > lost ? failures : Object.fromEntries(all.filter((one) => !isEnd(one)));
}
