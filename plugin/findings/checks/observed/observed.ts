/** The finding that each kind of observation makes. */
import {
  type Observations,
  type Observed,
  type ObservedKind,
  WRONG_ADDRESSES,
  WRONG_COUNTS,
} from '../../../run/measurements/observations.ts';
import type { CodedDetail } from '../../check.ts';
import { OF_CLIENTS } from './clients.ts';
import { OF_COUNTS } from './counts.ts';
import { OF_PARTS } from './parts.ts';
import { OF_READINGS } from './readings.ts';

type Finds = { [K in ObservedKind]: (fact: Observed[K]) => CodedDetail };

const FINDS: Finds = { ...OF_COUNTS, ...OF_PARTS, ...OF_CLIENTS, ...OF_READINGS };

/** Several of a group are about the same mistake. */
const GROUPS: readonly (readonly ObservedKind[])[] = [WRONG_COUNTS, WRONG_ADDRESSES];

/** @returns the finding of one observation */
export function findingOf<K extends ObservedKind>(kind: K, fact: Observed[K]): CodedDetail {
  return FINDS[kind](fact);
}

/** @returns findings in the order of time, one of each group */
export function observed({ all }: Observations): CodedDetail[] {
  const groupOf = (kind: ObservedKind) => GROUPS.find((kinds) => kinds.includes(kind));
  return all
    .filter(({ kind }, index) => {
      const group = groupOf(kind);
      return group === undefined || all.findIndex((one) => group.includes(one.kind)) === index;
    })
    .map(({ kind, fact }) => findingOf(kind, fact as never));
}
