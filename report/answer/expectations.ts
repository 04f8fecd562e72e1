/**
 * What everybody expects of a load test, whatever its scenario says: that connections are made and stay, that every
 * broadcast reaches every member once, and that messages are answered. A threshold of `ensure` on one of the metrics of an
 * expectation takes its place.
 */
import type { Result } from '../../protocol/result/result.ts';
import { breakdown, counted, percentOf, total } from '../text/format.ts';

export interface Expectation {
  name: string;
  /** Artillery metrics that are about the same thing. */
  metrics: string[];
  /** @returns null where the run knows nothing of it */
  judge(result: Result): { met: boolean; text: string } | null;
}

export const EXPECTATIONS: Expectation[] = [
  {
    name: 'no connection fails',
    metrics: ['connections.failed', 'vusers.failed'],
    judge: ({ connections: { failed, failures, held, lost }, fault }) => {
      // Those that were lost have an expectation of their own where connections are to stay.
      const others = held === null || fault ? failures : apartFromLost(failures, lost);
      const or = Object.entries(others).some(([cause, count]) => isLoss(cause) && count > 0) ? ' or were lost' : '';
      // So have those that stay away after a planned fault.
      return atMost(staysAway(fault), failed - total(failures) + total(others), `failed${or}`, others);
    },
  },
  {
    name: 'no connection is lost',
    metrics: ['connections.lost', 'connections.held'],
    judge: ({ connections: { held, lost }, fault }) =>
      held === null ? null : atMost(staysAway(fault), total(lost), 'lost', lost),
  },
  {
    name: 'every connection comes back from the planned fault',
    metrics: ['socketio.fault.not_back'],
    judge: ({ fault }) => fault && atMost(0, staysAway(fault), 'not back from the planned fault', fault.notBack),
  },
  {
    name: 'every member receives every broadcast',
    metrics: ['socketio.delivery.coverage', 'socketio.delivery.received', 'socketio.delivery.lost_'],
    judge: ({ delivery, fault, verdict }) => {
      // What could not be sent was not received.
      if (delivery?.broadcasts === 0 && verdict.reasons.some(({ code }) => code === 'BROADCASTS_NOT_SENT')) {
        return { met: false, text: 'no broadcast could be sent' };
      }
      if (!delivery || delivery.coverage === null) return null;
      const { received, expected } = delivery;
      // What a planned fault costs is its result, and no failure.
      const planned = fault?.broadcasts?.lost ?? 0;
      const text = `${percentOf(received, expected)} of the copies delivered, ${percentOf(expected - planned, expected)} expected`;
      return { met: received + planned >= expected, text };
    },
  },
  {
    name: 'nobody receives a broadcast twice',
    metrics: ['socketio.delivery.duplicates'],
    judge: ({ delivery }) => {
      if (!delivery || delivery.coverage === null) return null;
      return { met: delivery.duplicates === 0, text: `${counted(delivery.duplicates, 'duplicate')}, 0 allowed` };
    },
  },
  {
    name: 'every message is acknowledged',
    metrics: ['socketio.messages.answered', 'socketio.messages.acknowledged', 'socketio.messages.unanswered_'],
    judge: ({ messages }) => {
      const asked = messages ? messages.sent - messages.unasked : 0;
      if (!messages || asked === 0) return null;
      const { acknowledged } = messages;
      const text = `${percentOf(acknowledged, asked)} of messages acknowledged, 100 % expected`;
      return { met: acknowledged === asked, text };
    },
  },
];

const isLoss = (cause: string) => cause.startsWith('disconnected_');

/**
 * A virtual user whose connection was lost has failed, too. Who loses a namespace of a connection that stays has lost none.
 * @returns the failures without losses that `lost` has as well
 */
export function apartFromLost(failures: Record<string, number>, lost: Record<string, number>): Record<string, number> {
  const others = Object.fromEntries(Object.entries(failures).filter(([cause]) => !isLoss(cause)));
  return total(failures) - total(others) > total(lost) ? failures : others;
}

/** Connections that a planned fault has cost for good. */
function staysAway(fault: Result['fault']): number {
  return total(fault?.notBack ?? {});
}

function atMost(allowed: number, count: number, what: string, causes: Record<string, number>) {
  const found = breakdown(causes);
  const text = `${counted(count, 'connection')} ${what}${found && ` (${found})`}, ${allowed} allowed`;
  return { met: count <= allowed, text };
}
