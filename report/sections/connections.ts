/** How many connections were held, how fast they were made, and what failed. */
import type { Result } from '../../protocol/result/result.ts';
import { connectTimeOverTime } from '../charts/connecting.ts';
import { connectionsOverTime } from '../charts/over-time.ts';
import { comesAndGoes, heldOf, heldSeconds } from '../figures/held.ts';
import { serverName } from '../figures/server.ts';
import { clientsOf, transportNote } from '../figures/transports.ts';
import { amount, withUnit } from '../model/amount.ts';
import { type Block, drawing, type Finding, facts, lines, type Section } from '../model/document.ts';
import { breakdown, counted, integer } from '../text/format.ts';
import { NO_SAMPLES, summaries } from './parts.ts';

export function connections(result: Result): Section {
  const { failures, failureExamples, disconnects } = result.connections;
  return {
    id: 'connections',
    title: 'Connections',
    lead: 'How fast connections were made, and how long each one took.',
    terms: ['connections', 'rate', 'connectTime', 'stages', 'failures'],
    findings: findings(result),
    blocks: [
      drawing(connectionsOverTime(result), NO_SAMPLES),
      ...causes('Failures by cause', failures),
      lines(
        'note',
        Object.entries(failureExamples).map(([cause, text]) => `First \`${cause}\`: ${text}`),
      ),
      ...causes('Disconnects by cause', disconnects),
      lines('text', [reconnectionNote(result), transportNote(result)]),
      drawing(connectTimeOverTime(result), '', true),
      counts(result),
      summaries(
        'Connect time and its stages',
        [['Connect time', result.connections.connectMs], ...Object.entries(result.connections.stagesMs)],
        true,
      ),
    ],
  };
}

function findings(result: Result): Finding[] {
  const { connections: made, absent } = result;
  const { target, achievedRatePerSec: rate, failureExamples } = made;
  const count = heldOf(made);
  const passing = comesAndGoes(result);
  const [server, clients] = [serverName(result), clientsOf(result)];
  const seconds = absent.delivery === undefined || passing !== null ? null : heldSeconds(result);
  const held =
    made.held === null ? `at most ${counted(count, 'connection')} at the same time` : heldText(count, target);
  const who = [server, clients].filter(Boolean).join('; ');
  const text = `${passing ?? held}${seconds === null ? '' : ` for ${integer(seconds)} s`}${who && ` (${who})`}`;
  const of = passing ?? (count === target ? 'the full target' : `of a target of ${integer(target)}`);
  const at = rate === null ? null : `made at ${withUnit('perSecond', rate)}`;
  const name = made.held === null ? 'Connections at the peak' : 'Connections held';
  const note = [[of, at].filter(Boolean).join(', '), who].filter(Boolean).join('; ');
  const examples = Object.entries(failureExamples).map(([cause, example]) => ({ text: `first ${cause}: ${example}` }));
  return [{ text, figure: { name, value: amount('count', count), note } }, ...examples.slice(0, 2)];
}

/** @returns `1,000 connections held`, or of how many */
function heldText(count: number, target: number): string {
  return count === target
    ? `${counted(count, 'connection')} held`
    : `${integer(count)} of ${counted(target, 'connection')} held`;
}

function causes(title: string, counts: Record<string, number>): Block[] {
  const rows = Object.entries(counts).toSorted(([, a], [, b]) => b - a);
  if (rows.length === 0) return [];
  return [
    facts(
      title,
      rows.map(([cause, count]) => [cause, amount('count', count)]),
    ),
  ];
}

function counts(result: Result): Block {
  const { connections: made } = result;
  const { transports, compression, tlsHandshakes } = made;
  const row = (name: string, value: number | null, note = ''): Parameters<typeof facts>[1][number] => {
    return [name, amount('count', value), note];
  };
  return facts(
    'Connections in numbers',
    [
      row('Target', made.target),
      ...(transports
        ? [
            row('Began with WebSocket', transports.websocket),
            row('Upgraded from polling', transports.upgraded),
            row('Stayed on polling', transports.polling),
            row('Failed upgrades', total(transports.upgradeFailures), breakdown(transports.upgradeFailures)),
          ]
        : []),
      ...(compression?.asked ? [row('Compressed', compression.granted)] : []),
      row('Held', made.held),
      row('Peak', made.peak),
      row('Failed', made.failed, breakdown(made.failures)),
      row('Lost', total(made.lost), breakdown(made.lost)),
      ...(made.skipped > 0 ? [row('Skipped', made.skipped, 'arrivals beyond maxVusers')] : []),
      row('Retries', made.retries),
      row('Disconnects', total(made.disconnects), breakdown(made.disconnects)),
      ['Rate, configured', amount('perSecond', made.configuredRatePerSec)],
      ['Rate, achieved', amount('perSecond', made.achievedRatePerSec)],
      ['Ramps, in total', amount('seconds', made.rampSeconds)],
      ...(tlsHandshakes
        ? [row('TLS handshakes, full', tlsHandshakes.full), row('TLS handshakes, resumed', tlsHandshakes.resumed)]
        : []),
    ],
    true,
  );
}

/** What happened to connections that dropped; null where none did, or where the run does not reconnect. */
function reconnectionNote({ connections: { reconnection } }: Result): string | null {
  if (reconnection === null || reconnection.dropped === 0) return null;
  const { dropped, returned, recovered, gaveUp, left, away, awayMs } = reconnection;
  const others = [
    [gaveUp, 'gave up'],
    [left, 'closed while away'],
    [away, 'still away at the end'],
  ] as const;
  const longest = awayMs
    ? ` after ${withUnit('milliseconds', awayMs.p50)} (median; longest ${withUnit('milliseconds', awayMs.max)})`
    : '';
  return [
    `${counted(dropped, 'drop')}: ${integer(returned)} returned${longest}, ${integer(recovered)} of them with a restored session`,
    ...others.flatMap(([count, what]) => (count > 0 ? [`${integer(count)} ${what}`] : [])),
  ].join('; ');
}

function total(counts: Record<string, number>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}
