/** Whether the figures can be trusted, and if not, why. */
import { REASON_CODES, type Reason, VERDICT_REASONS } from '../../protocol/codes/verdict-reasons.ts';
import type { Result } from '../../protocol/result/result.ts';
import type { Measurements } from '../run/measurements/measurements.ts';
import { notFinalized } from './delivery/delivery.ts';
import { accounts } from './reasons/accounts.ts';
import { broadcasts } from './reasons/broadcasts.ts';
import type { Check, Measured } from './reasons/check.ts';
import { connections } from './reasons/connections.ts';
import { copies } from './reasons/copies.ts';
import { generator } from './reasons/generator.ts';
import { limits } from './reasons/limits.ts';
import { causeOfLateness, machine } from './reasons/machine.ts';
import { memory } from './reasons/memory.ts';
import { ownEvent } from './reasons/own-event.ts';
import { processes } from './reasons/processes.ts';
import { times } from './reasons/times.ts';
import { unexplained } from './reasons/unexplained.ts';
import { workers } from './reasons/workers.ts';

/** All that are made when the run is over, in any order: the catalogue has that of the reasons. */
const CHECKS = [
  ...[accounts, machine, generator, workers, limits, connections],
  ...[broadcasts, ownEvent, copies, times, memory, processes, unexplained],
].flat();

/** @param result everything but the verdict */
export function evaluate(measurements: Measurements, result: Measured): Result['verdict'] {
  const finalized = withoutOpen(measurements, result);
  const found = reasonsBy(CHECKS, finalized, measurements);
  const all = [...abortion(measurements), ...measurements.warnings, ...found];
  const reasons = inCausalOrder([...all, ...causeOfLateness(finalized, all)]);
  const invalid = reasons.some(({ code }) => VERDICT_REASONS[code].invalidates.includes('run'));
  return { status: reasons.length === 0 ? 'VALID' : invalid ? 'INVALID' : 'SUSPECT', reasons };
}

export function reasonsBy(checks: Check[], ...run: Parameters<Check['find']>): Reason[] {
  return checks.flatMap(({ code, find }) => find(...run).map((detail) => ({ code, ...detail })));
}

/** Why the run ended early, and what is not known for it. */
function abortion(measurements: Measurements): Reason[] {
  const { aborted, sent } = measurements;
  if (!aborted) return [];
  const { size } = notFinalized(measurements);
  const unknown =
    size > 0
      ? `; the receivers of ${size} of ${sent.length} broadcasts are unknown, because their ledger is not finalized`
      : '';
  return [{ ...aborted, message: `${aborted.message}${unknown}` }];
}

/** The columns of a broadcast are empty until its ledger is finalized: not a finding. */
function withoutOpen(measurements: Measurements, result: Measured): Measured {
  const open = notFinalized(measurements);
  const { delivery } = result;
  if (!delivery || open.size === 0) return result;
  return { ...result, delivery: { ...delivery, batches: delivery.batches.filter(({ seq }) => !open.has(seq)) } };
}

/** One reason for each code, causes first, without those that another one explains. */
function inCausalOrder(found: Reason[]): Reason[] {
  const byCode = Map.groupBy(found, ({ code }) => code);
  const explained = new Set([...byCode.keys()].flatMap((code) => VERDICT_REASONS[code].causes ?? []));
  return REASON_CODES.filter((code) => byCode.has(code) && !explained.has(code)).map((code) => {
    const details = byCode.get(code) ?? [];
    const fixes = details.map(({ fix = VERDICT_REASONS[code].remedy }) => fix);
    return {
      code,
      message: details.map(({ message }) => message).join('; '),
      fix: [...new Set(fixes)].join('; '),
    };
  });
}
