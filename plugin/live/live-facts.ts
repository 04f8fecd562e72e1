/** Collects the figures of the terminal's live line. */
import { lostOf } from '../result/assemble-connections.ts';
import type { Conductor } from '../run/conductor.ts';
import type { RunContext } from '../run/context.ts';
import { totalSeconds } from '../script/load/phases.ts';
import type { LiveFacts } from './terminal-line.ts';

/** Estimated time of the stages without a setting: final plateau, drain, disconnect, residual. */
const MEASURING_SECONDS = 12;
/** The rate is computed over this time. */
const RATE_WINDOW_MS = 900;

export function liveFacts(
  conductor: Conductor,
  { measurements, config, link, population }: RunContext,
): () => LiveFacts {
  const startedMs = performance.now();
  const { delivery, broadcasts } = config;
  const planned = delivery ? (delivery.publish?.count ?? 0) : broadcasts.count;
  const seconds = delivery?.seconds ?? planned * broadcasts.interval;
  const { staySeconds } = config.load;
  // Users who leave are measured until the last one has left, without a hold and broadcasts after it.
  const afterSeconds = config.usersLeave ? (Number.isFinite(staySeconds) ? staySeconds : 0) : config.hold + seconds;
  const planSeconds = totalSeconds(config.phases) + afterSeconds + MEASURING_SECONDS;
  let last = { connections: 0, atMs: startedMs };
  let ratePerSec = 0;
  return () => {
    const { stage } = conductor;
    const now = population.connections();
    // `reached` counts first copies of broadcasts; `received` would include other messages of an own event.
    const { started, failures, ended, reached } = link.status;
    const target = config.otherEngines.length > 0 ? started : measurements.targetConnections;
    const nowMs = performance.now();
    if (nowMs - last.atMs > RATE_WINDOW_MS) {
      ratePerSec = ((now - last.connections) * 1000) / (nowMs - last.atMs);
      last = { connections: now, atMs: nowMs };
    }
    return {
      stage,
      connections: {
        ...{ now, target, failures, lost: lostOf(ended) },
        achievedRatePerSec: stage === 'ramp' ? ratePerSec : 0,
      },
      broadcasts: { planned, sent: measurements.sent.length, received: reached },
      secondsLeft: planSeconds - (nowMs - startedMs) / 1000,
    };
  };
}
