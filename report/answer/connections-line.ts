/** How many connections a run held. */
import type { Result } from '../../protocol/result/result.ts';
import { comesAndGoes, heldOf, heldSeconds } from '../figures/held.ts';
import { embeddedName, serverName } from '../figures/measured-server.ts';
import { clientsOf } from '../figures/transports.ts';
import { withUnit } from '../model/amount.ts';
import { counted, integer } from '../text/format.ts';
import { figureOf, type Line } from './line.ts';

export function connectionLines(result: Result): Line[] {
  const { connections: made, absent } = result;
  const { target, achievedRatePerSec: rate, failures, failureExamples } = made;
  const held = heldOf(made);
  const passing = comesAndGoes(result);
  const server = [serverName(result), embeddedName(result)].filter(Boolean).join(', ');
  const clients = clientsOf(result);
  const seconds = absent.delivery === undefined || passing !== null ? null : heldSeconds(result);
  // A virtual user can open several connections.
  const kept = held < target ? `${integer(held)} of ${counted(target, 'connection')}` : counted(held, 'connection');
  const all = made.held === null ? `at most ${counted(held, 'connection')} at the same time` : `${kept} held`;
  const who = [server, clients].filter(Boolean).join('; ');
  const most = made.held === 0 && made.peak > 0 ? `, at most ${integer(made.peak)} at the same time` : '';
  const text = `${passing ?? all + most}${seconds === null ? '' : ` for ${integer(seconds)} s`}${who && ` (${who})`}`;
  const of = passing ?? (held >= target ? 'the full target' : `of a target of ${integer(target)}`);
  const at = rate === null ? null : `made at ${withUnit('perSecond', rate)}`;
  const key = made.held === null ? 'connections.peak' : 'connections.held';
  const note = [[of, at].filter(Boolean).join(', '), who].filter(Boolean).join('; ');
  // The cause's name explains lost connections. Failed calls of `on` fail no virtual user and have their own line.
  const examples = Object.entries(failureExamples)
    .filter(([cause]) => !cause.startsWith('disconnected_') && (!cause.startsWith('function_') || cause in failures))
    .map(([cause, example]) => ({ text: `the first ${cause}: ${example}` }));
  return [{ text, figure: figureOf(key, held, note) }, ...examples.slice(0, 2)];
}
