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
      // Those that were lost have failed, too, and have an expectation of their own where connections are to stay. Who loses a
      // namespace of one that stays is not among them.
      const gone = lostIn(failures);
      const apart = held === null || fault || total(gone) > total(lost) ? {} : gone;
      const others = Object.fromEntries(Object.entries(failures).filter(([cause]) => !Object.hasOwn(apart, cause)));
      const count = failed - total(apart);
      const or = total(lostIn(others)) > 0 ? ' or were lost' : '';
      // So have those that stay away after a planned fault.
      return {
        met: count <= staysAway(fault),
        text: `${counted(count, 'connection')} failed${or}${reasons(others)}, ${staysAway(fault)} allowed`,
      };
    },
  },
  {
    name: 'no connection is lost',
    metrics: ['connections.lost', 'connections.held'],
    judge: ({ connections: { held, lost }, fault }) => {
      if (held === null) return null;
      const count = total(lost);
      const planned = staysAway(fault);
      const text = `${counted(count, 'connection')} lost${reasons(lost)}, ${planned} allowed`;
      return { met: count <= planned, text };
    },
  },
  {
    name: 'every connection comes back from the planned fault',
    metrics: ['socketio.fault.not_back'],
    judge: ({ fault }) => {
      if (!fault) return null;
      const count = staysAway(fault);
      return {
        met: count === 0,
        text: `${counted(count, 'connection')} not back from the planned fault${reasons(fault.notBack)}, 0 allowed`,
      };
    },
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
      return {
        met: received + planned >= expected,
        text: `${percentOf(received, expected)} of the copies delivered, ${percentOf(expected - planned, expected)} expected`,
      };
    },
  },
  {
    name: 'nobody receives a broadcast twice',
    metrics: ['socketio.delivery.duplicates'],
    judge: ({ delivery }) => {
      if (!delivery || delivery.coverage === null) return null;
      return {
        met: delivery.duplicates === 0,
        text: `${counted(delivery.duplicates, 'duplicate')}, 0 allowed`,
      };
    },
  },
  {
    name: 'every message is acknowledged',
    metrics: ['socketio.messages.answered', 'socketio.messages.acknowledged', 'socketio.messages.unanswered_'],
    judge: ({ messages }) => {
      const asked = messages ? messages.sent - messages.unasked : 0;
      if (!messages || asked === 0) return null;
      const { acknowledged } = messages;
      return {
        met: acknowledged === asked,
        text: `${percentOf(acknowledged, asked)} of messages acknowledged, 100 % expected`,
      };
    },
  },
];

/** A virtual user fails when its connection is lost. */
function lostIn(failures: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(failures).filter(([cause]) => cause.startsWith('disconnected_')));
}

/** Connections that a planned fault has cost for good. */
function staysAway(fault: Result['fault']): number {
  return total(fault?.notBack ?? {});
}

function reasons(counts: Record<string, number>): string {
  const text = breakdown(counts);
  return text === '' ? '' : ` (${text})`;
}
