/** The answer of a run in a few words: what the deployment did, what a connection costs, and how far that would go. */
import type { Result } from '../../protocol/result/result.ts';
import { absentHeadline } from '../text/absent.ts';
import { messageHeadline } from '../text/client-messages.ts';
import { faultHeadline } from '../text/fault-text.ts';
import { counted, integer, percentOf, spaced } from '../text/format.ts';
import { heldSeconds, heldText, missesSome } from '../text/held.ts';
import { oneWayTail } from '../text/latency-notes.ts';
import { memoryHeadline } from '../text/memory-text.ts';
import { comesAndGoes, overTimeHeadline } from '../text/over-time-text.ts';
import { serverName } from '../text/server.ts';
import { clientsOf } from '../text/transports.ts';
import { connectionCost, costText } from './cost.ts';
import { isMissed, outcomeOf } from './outcome.ts';

const STATUS = { PASSED: 'Passed', FAILED: 'Failed', UNKNOWN: 'No result' };

/** @returns `Passed`, or `Failed: delivery 50.00 % of members, threshold 100 %` */
export function outcomeTitle(result: Result, outcome = outcomeOf(result)): string {
  const { status, thresholds } = outcome;
  const missed = thresholds.filter(isMissed).map(({ text }) => text);
  const why = status === 'UNKNOWN' ? ['this measurement cannot be trusted'] : missed;
  return [STATUS[status], ...(why.length > 0 ? [why.join('; ')] : [])].join(': ');
}

/** @returns the figures that people quote, in order of importance; none for an INVALID run */
export function answerParts(result: Result): string[] {
  if (result.verdict.status === 'INVALID') return [];
  const { latency, messages, memory, capacity, fault } = result;
  return [
    heldPart(result),
    fault && faultHeadline(fault),
    deliveryPart(result),
    oneWayTail(latency),
    messages && messageHeadline(messages),
    // What a connection costs is not the question of a fault, and there are too few plateaus to tell.
    fault ? null : (overTimeHeadline(result) ?? memoryPart(result)),
    memory.overTime ? null : absentHeadline(result),
    capacity.lowest === null ? null : limitPart(capacity),
  ].filter((part) => part !== null);
}

/** How long matters where it is all that was done with them. */
function heldPart(result: Result): string {
  const clients = clientsOf(result);
  const server = serverName(result);
  const by = server === null ? '' : ` by ${server}`;
  const ofClients = clients === null ? '' : ` (${clients})`;
  const passing = comesAndGoes(result);
  if (passing !== null) return passing + by + ofClients;
  const held = heldText(result.connections) + by;
  const seconds = result.absent.delivery === undefined ? null : heldSeconds(result);
  return (seconds === null ? held : `${held} for ${integer(seconds)} s`) + ofClients;
}

function deliveryPart({ delivery, connections }: Result): string | null {
  if (!delivery || delivery.broadcasts === 0) return null;
  const { broadcasts, expected, received } = delivery;
  const someHadLeft = missesSome(delivery) || connections.held === null;
  const everybody = someHadLeft ? 'everybody still connected' : 'everybody';
  const complete = delivery.batches
    .filter((batch) => batch.expected > 0 && batch.received === batch.expected)
    .reduce((sum, batch) => sum + batch.broadcasts, 0);
  // A row of a long run, which stands for several broadcasts, is incomplete if one of them is.
  const atLeast = delivery.batches.length < broadcasts ? 'at least ' : '';
  if (complete !== broadcasts)
    return `${atLeast}${integer(complete)} of ${counted(broadcasts, 'broadcast')} reached ${everybody} (${percentOf(received, expected)})`;
  return `${broadcasts === 1 ? 'the broadcast' : `all ${counted(broadcasts, 'broadcast')}`} reached ${everybody}`;
}

/** `58.4 KB per connection in service (workers 33.8, nginx 13.7, kernel 10.9)`, or why there is no such figure. */
function memoryPart(result: Result): string | null {
  const cost = connectionCost(result);
  if (!cost || cost.parts.length < 2) return memoryHeadline(result);
  return costText(cost, 'inService') ?? costText(cost, 'atRest') ?? memoryHeadline(result);
}

function limitPart({ limits, lowest }: Result['capacity']): string | null {
  const limit = limits.find(({ name }) => name === lowest);
  return limit ? `lowest known limit ${integer(limit.max)} (${spaced(limit.name)})` : null;
}
