/** Determines from the findings which expectations a run met and missed. */

import { EXPECTATION_NAMES, EXPECTATIONS, type ExpectationName } from '../../protocol/codes/expectations.ts';
import { FINDING_CODES, FINDINGS } from '../../protocol/codes/finding-codes.ts';
import type { RunOutcome } from '../../protocol/result/answer-schema.ts';
import type { Finding } from '../../protocol/result/findings.ts';
import type { Result } from '../../protocol/result/result.ts';
import { textBeyondLimit } from '../../report/answer/outcome.ts';
import { numberText } from '../../report/model/amount.ts';
import { countText, integerText, percentOf, totalOfCounts } from '../../report/text/format.ts';
import type { RunFigures } from './check.ts';
import { connectOrStepFailures } from './checks/connections/failure-causes.ts';

/** Allowed difference of the connect rate, as a share of the configured rate. */
export const RATE_TOLERANCE = 0.05;

/**
 * Functions that return the figures which show that the run met an expectation. Null without such figures, or if
 * nothing was expected; the absence of findings does not prove that the expectation was met.
 */
const MET: Record<ExpectationName, (result: RunFigures) => string | null> = {
  'no connection fails': ({ connections: { asked, failures } }) =>
    asked > 0 && totalOfCounts(connectOrStepFailures(failures)) === 0
      ? `${countText(asked, 'connection')} asked for, 0 failed`
      : null,
  'no connection is lost': ({ connections: { opened, lost }, fault }) => {
    const planned = totalOfCounts(fault?.notReconnected ?? {});
    if (opened === 0 || totalOfCounts(lost) > planned) return null;
    return `${countText(opened, 'connection')} opened, ${planned > 0 ? 'none lost but by the planned fault' : '0 lost'}`;
  },
  'all virtual users are connected at once': ({ connections: { peak, held, target } }) =>
    held === null || peak < target ? null : `${countText(peak, 'connection')} at the same time`,
  'connections are made at the configured rate': ({ connections }) => {
    const { achievedRatePerSec: rate, configuredRatePerSec: configured } = connections;
    if (rate === null || configured === null || rate < configured * (1 - RATE_TOLERANCE)) return null;
    return `${numberText('perSecond', rate)} connections/s`;
  },
  'every connection upgrades to WebSocket': ({ connections: { opened, transports } }) =>
    transports?.configured === 'default' && opened > 0 && transports.polling === 0
      ? `${integerText(transports.upgraded)} upgraded`
      : null,
  'the server accepts the clients of the run': () => null,
  'the deployment keeps running': () => null,
  'the deployment keeps up with the load': () => null,
  'every connection reconnects after the planned fault': ({ fault }) =>
    fault && fault.dropped > 0 && fault.reconnected >= fault.dropped
      ? `${integerText(fault.reconnected)} of ${integerText(fault.dropped)} reconnected`
      : null,
  'every broadcast is sent': () => null,
  'every member receives every broadcast': ({ delivery, fault }) => {
    if (!delivery || delivery.coverage === null) return null;
    const { received, expected } = delivery;
    const due = expected - (fault?.broadcasts?.lost ?? 0);
    if (received < due) return null;
    return `${percentOf(received, expected)} of the copies delivered, ${percentOf(due, expected)} expected`;
  },
  'nobody receives a broadcast twice': ({ delivery }) =>
    delivery && delivery.coverage !== null && delivery.duplicates === 0 ? '0 duplicates, 0 allowed' : null,
  'every message is acknowledged': ({ messages }) =>
    messages &&
    messages.sent > messages.ackNotRequested &&
    messages.acknowledged === messages.sent - messages.ackNotRequested
      ? '100.00 % of messages acknowledged, 100 % expected'
      : null,
};

/** Expectation that a finding fails, by the code of the finding. */
const FAILING = new Map<string, ExpectationName | undefined>(FINDING_CODES.map((code) => [code, FINDINGS[code].fails]));

/** Returns whether an `ensure` threshold of the user replaces the expectation. */
export function isExpectationReplaced(name: ExpectationName, thresholds: Result['thresholds']): boolean {
  const metrics: readonly string[] = EXPECTATIONS[name];
  return thresholds.some(({ expression }) => metrics.some((metric) => expression.includes(metric)));
}

/** Returns the outcome: which expectations the run met and missed. UNKNOWN if the measurement is INVALID. */
export function runOutcomeOf(result: RunFigures & Pick<Result, 'verdict' | 'findings'>): RunOutcome {
  if (result.verdict.status === 'INVALID') return { status: 'UNKNOWN', thresholds: [] };
  const own = result.thresholds.map((one) => ({
    ...{ name: one.expression, met: one.met, strict: one.strict, text: one.expression + foundText(one) },
  }));
  const expected = EXPECTATION_NAMES.flatMap((name) => {
    const all = result.findings.filter(({ fails }) => fails === name);
    // If a finding and its cause fail the same expectation, only the cause is listed.
    const missed = all.filter(({ code }) => !all.some(({ explains }) => explains.includes(code)));
    if (missed.length > 0) {
      return { name, met: false, strict: true, text: missed.map(({ message }) => message).join('; ') };
    }
    const text =
      isUnknown(name, result.findings) || isExpectationReplaced(name, result.thresholds) ? null : MET[name](result);
    return text === null ? [] : { name, met: true, strict: true, text };
  });
  const thresholds = [...expected, ...own];
  return { status: thresholds.some(({ met, strict }) => strict && !met) ? 'FAILED' : 'PASSED', thresholds };
}

/**
 * Returns whether the generator caused a finding that fails the expectation. It is then unknown whether the deployment
 * would have met the expectation.
 */
function isUnknown(name: ExpectationName, findings: Finding[]): boolean {
  return findings.some(({ code, fails }) => fails === null && FAILING.get(code) === name);
}

/**
 * Returns a text such as `, found 12.9 ms`. Includes the metrics' names if the expression of a threshold has several
 * metrics.
 */
function foundText({ expression, found = [], unknown = [], met }: Result['thresholds'][number]): string {
  const limits = [...expression.matchAll(/-?\d[\d.]*/g)].map(([limit]) => Number(limit));
  const values = found.map(({ metric, value, unit }) => {
    const text = metricText(value, unit, limits);
    return found.length > 1 ? `${metric} ${text}` : text;
  });
  const missing = met || unknown.length === 0 ? [] : [`the run has no ${unknown.join(', ')}`];
  const texts = [...(values.length > 0 ? [`found ${values.join(', ')}`] : []), ...missing];
  return texts.length > 0 ? `, ${texts.join('; ')}` : '';
}

/** Limits of shares are numbers from 0 to 1, so shares are shown in the same way, without a unit. */
function metricText(value: number, unit: string, limits: number[]): string {
  const number = textBeyondLimit(value, limits).toLocaleString('en-US', { maximumFractionDigits: 20 });
  if (unit === '' || unit === '0 to 1') return number;
  return `${number} ${value === 1 ? unit.replace(/s$/, '') : unit}`;
}
