/** Lines about the HTTP requests, other engines and functions of virtual users. */
import type { Result } from '../../protocol/result/result.ts';
import { breakdown, counted, integer, total } from '../text/format.ts';
import type { Line } from './line.ts';

export function httpLines({ http, otherUsers }: Result): Line[] {
  const requests = http ? [requestsText(http)] : [];
  if (!otherUsers) return requests.map((text) => ({ text }));
  const { started, failures } = otherUsers;
  const failed = total(failures) > 0 ? `, ${integer(total(failures))} failed (${breakdown(failures)})` : '';
  const users = `${counted(started, 'virtual user')} of other engines${failed}`;
  return [{ text: `beside the connections, ${[users, ...requests].join('; ')}; CPU and memory include them` }];
}

const SHOWN_COUNTERS = 5;

export function functionLines({ functions }: Result): Line[] {
  if (!functions) return [];
  const { received, dropped, failures, counters } = functions;
  const failed = total(failures) > 0 ? `${integer(total(failures))} failed (${breakdown(failures)})` : 'none failed';
  const calls = received > 0 ? [`functions got ${counted(received, 'event')}, ${failed}`] : [];
  if (dropped > 0) calls.push(`${integer(dropped)} came faster than functions could take them`);
  const shown = Object.fromEntries(Object.entries(counters).slice(0, SHOWN_COUNTERS));
  const more = Object.keys(counters).length - SHOWN_COUNTERS;
  if (Object.keys(shown).length > 0) calls.push(`counters: ${breakdown(shown)}${more > 0 ? `, and ${more} more` : ''}`);
  return [{ text: calls.join('; ') }];
}

function requestsText({ requests, responses, failures, pending }: NonNullable<Result['http']>): string {
  const parts = Object.entries(responses).map(([status, count]) => `${integer(count)} answered ${status}`);
  if (total(failures) > 0) parts.push(`${integer(total(failures))} failed (${breakdown(failures)})`);
  if (pending > 0) parts.push(`${integer(pending)} open at the end`);
  return `${counted(requests, 'HTTP request')}: ${parts.join(', ')}`;
}
