/** Describes how many connections a run held. */
import type { Result } from '../../protocol/result/result.ts';
import { heldConnections, heldSeconds, turnoverText } from '../figures/held.ts';
import { limitName, nextLimit } from '../figures/limits.ts';
import { embeddedName, serverName } from '../figures/setting-lines.ts';
import { clientsOf } from '../figures/transports.ts';
import { withUnit } from '../model/amount.ts';
import { countsBreakdown, countText, decimalsText, integerText, totalOfCounts } from '../text/format.ts';
import { answerFigure, type ReportLine } from './line.ts';

export function connectionLines(result: Result): ReportLine[] {
  const { connections: made, absent } = result;
  const { target, achievedRatePerSec: rate, failures, failureExamples } = made;
  const held = heldConnections(made);
  const passing = turnoverText(result);
  const server = [serverName(result), embeddedName(result)].filter(Boolean).join(', ');
  const clients = clientsOf(result);
  const seconds = absent.delivery === undefined || passing !== null ? null : heldSeconds(result);
  // A virtual user can open several connections.
  const kept =
    held < target ? `${integerText(held)} of ${countText(target, 'connection')}` : countText(held, 'connection');
  const all = made.held === null ? `at most ${countText(held, 'connection')} at the same time` : `${kept} held`;
  const who = [server, clients].filter(Boolean).join('; ');
  const most = made.held === 0 && made.peak > 0 ? `, at most ${integerText(made.peak)} at the same time` : '';
  const text = `${passing ?? all + most}${seconds === null ? '' : ` for ${integerText(seconds)} s`}${who && ` (${who})`}`;
  const of = passing ?? (held >= target ? 'the full target' : `of a target of ${integerText(target)}`);
  const at = rate === null ? null : `made at ${withUnit('perSecond', rate)}`;
  const key = made.held === null ? 'connections.peak' : 'connections.held';
  const note = [[of, at].filter(Boolean).join(', '), who].filter(Boolean).join('; ');
  // Causes that start with `disconnected_` need no example. A separate line reports failed calls of functions that
  // fail no virtual user.
  const examples = Object.entries(failureExamples)
    .filter(([cause]) => !cause.startsWith('disconnected_') && (!cause.startsWith('function_') || cause in failures))
    .map(([cause, example]) => ({ text: `the first ${cause}: ${example}` }));
  return [{ text, figure: answerFigure(key, held, note) }, ...examples.slice(0, 2)];
}

/** Reports how many copies were received, for events whose messages have no ids. */
export function countedEventLines({ eventCounts }: Result): ReportLine[] {
  return eventCounts.map(({ event, seconds, receivers, sent, most, fewest, missingAtLeast, missingAtMost }) => {
    const each = most === fewest ? integerText(most) : `${integerText(fewest)} to ${integerText(most)}`;
    const got = `\`${event}\`: ${each} copies for each of ${countText(receivers, 'connection')} in ${decimalsText(seconds, 1)} s`;
    const missing =
      missingAtLeast > 0
        ? `${integerText(missingAtLeast)} to ${integerText(missingAtMost)} are missing, without ids to tell which`
        : most === 0
          ? 'none received'
          : missingAtMost > 0
            ? 'differences are within copies in flight'
            : 'the same for all';
    const base =
      sent === null
        ? '; compared with the connection that got most, so a copy that reached none is not missed'
        : `; compared with ${countText(sent, 'message')}`;
    return { text: `${got} (counts only: ${missing}${base})` };
  });
}

/** Reports the limit of the deployment that a growing number of connections would reach first. */
export function limitLines(result: Result): ReportLine[] {
  const next = result.absent.memory === undefined ? nextLimit(result) : null;
  return next ? [{ text: `next limit: ${integerText(next.max)} ${limitName(next.name)}` }] : [];
}

/** Reports the HTTP requests of virtual users, the users of other engines, and calls of custom functions. */
export function httpLines({ http, otherUsers }: Result): ReportLine[] {
  const requests = http ? [requestsText(http)] : [];
  if (!otherUsers) return requests.map((text) => ({ text }));
  const { started, failures } = otherUsers;
  const failed =
    totalOfCounts(failures) > 0
      ? `, ${integerText(totalOfCounts(failures))} failed (${countsBreakdown(failures)})`
      : '';
  const users = `${countText(started, 'virtual user')} of other engines${failed}`;
  return [{ text: `beside the connections, ${[users, ...requests].join('; ')}; CPU and memory include them` }];
}

const SHOWN_COUNTERS = 5;

export function functionLines({ functions }: Result): ReportLine[] {
  if (!functions) return [];
  const { received, dropped, failures, counters } = functions;
  const failed =
    totalOfCounts(failures) > 0
      ? `${integerText(totalOfCounts(failures))} failed (${countsBreakdown(failures)})`
      : 'none failed';
  const calls = received > 0 ? [`functions got ${countText(received, 'event')}, ${failed}`] : [];
  if (dropped > 0) calls.push(`${integerText(dropped)} arrived faster than functions could process them`);
  const shown = Object.fromEntries(Object.entries(counters).slice(0, SHOWN_COUNTERS));
  const more = Object.keys(counters).length - SHOWN_COUNTERS;
  if (Object.keys(shown).length > 0)
    calls.push(`counters: ${countsBreakdown(shown)}${more > 0 ? `, and ${more} more` : ''}`);
  return [{ text: calls.join('; ') }];
}

function requestsText({ requests, responses, failures, pending }: NonNullable<Result['http']>): string {
  const parts = Object.entries(responses).map(([status, count]) => `${integerText(count)} answered ${status}`);
  if (totalOfCounts(failures) > 0)
    parts.push(`${integerText(totalOfCounts(failures))} failed (${countsBreakdown(failures)})`);
  if (pending > 0) parts.push(`${integerText(pending)} open at the end`);
  return `${countText(requests, 'HTTP request')}: ${parts.join(', ')}`;
}
