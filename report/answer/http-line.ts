/** HTTP requests and other engines' virtual users of a run, in one line. */
import type { Result } from '../../protocol/result/result.ts';
import { counted, integer, total } from '../text/format.ts';
import type { Line } from './line.ts';

export function httpLines({ http, otherUsers }: Result): Line[] {
  const requests = http ? [requestsText(http)] : [];
  if (!otherUsers) return requests.map((text) => ({ text }));
  const { started, failures } = otherUsers;
  const failed = total(failures) > 0 ? `, ${integer(total(failures))} failed (${named(failures)})` : '';
  const users = `${counted(started, 'virtual user')} of other engines${failed}`;
  return [{ text: `beside the connections, ${[users, ...requests].join('; ')}; CPU and memory include them` }];
}

function requestsText({ requests, responses, failures, pending }: NonNullable<Result['http']>): string {
  const parts = Object.entries(responses).map(([status, count]) => `${integer(count)} answered ${status}`);
  if (total(failures) > 0) parts.push(`${integer(total(failures))} failed (${named(failures)})`);
  if (pending > 0) parts.push(`${integer(pending)} open at the end`);
  return `${counted(requests, 'HTTP request')}: ${parts.join(', ')}`;
}

function named(counts: Record<string, number>): string {
  return Object.entries(counts)
    .toSorted(([, a], [, b]) => b - a)
    .map(([name, count]) => `${name} ${integer(count)}`)
    .join(', ');
}
