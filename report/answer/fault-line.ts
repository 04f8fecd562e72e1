/** Describes in one sentence what a planned fault did to the connections. */

import type { FaultResult } from '../../protocol/result/fault-schema.ts';
import type { Result } from '../../protocol/result/result.ts';
import type { FaultKind } from '../../protocol/wire/fault-kinds.ts';
import { withUnit } from '../model/amount.ts';
import { countText, integerText, percentOf } from '../text/format.ts';
import { answerFigure, type ReportLine } from './line.ts';

const NAMES: Record<Exclude<FaultKind, 'command'>, string> = {
  'reload-workers': 'pm2 reload',
  'kill-worker': 'a worker killed',
  'reload-nginx': 'nginx reloaded',
  'restart-redis': 'Redis restarted',
  'drop-connections': 'all connections dropped at once',
};

/**
 * Returns the planned fault in a few words: `pm2 reload`, or `command "systemctl"` with the program of the user's
 * command.
 */
function nameOf({ kind, command }: FaultResult): string {
  if (kind === 'command') return command === null ? kind : `command \`${command}\``;
  return NAMES[kind];
}

/** Returns, for example, "a worker killed: 500 of 1,000 connections dropped, all reconnected after 1.03 s, 0.9 % of the copies missed". */
export function faultHeadline(fault: FaultResult): string {
  const { connections, dropped, reconnected, reconnectMs, broadcasts } = fault;
  const after =
    reconnectMs.all === null
      ? `${percentOf(reconnected, dropped)} reconnected`
      : `all reconnected after ${seconds(reconnectMs.all)}`;
  const drops =
    dropped === 0
      ? 'no connection dropped'
      : `${integerText(dropped)} of ${countText(connections, 'connection')} dropped, ${after}`;
  const missed =
    !broadcasts || broadcasts.due === 0
      ? []
      : broadcasts.missed === 0
        ? ['no copy missed']
        : [`${percentOf(broadcasts.missed, broadcasts.due)} of the copies meanwhile missed`];
  return `${nameOf(fault)}: ${[drops, ...missed].join(', ')}`;
}

export function faultLines({ fault }: Result): ReportLine[] {
  if (!fault) return [];
  const { dropped, reconnectMs } = fault;
  const note = faultHeadline(fault);
  const figure =
    dropped === 0
      ? answerFigure('fault.dropped', 0, note, 'Dropped by the fault')
      : answerFigure('fault.reconnectMs.all', reconnectMs.all ?? 'never', note);
  return [{ text: note, figure }];
}

function seconds(ms: number): string {
  return withUnit('seconds', ms / 1000);
}
