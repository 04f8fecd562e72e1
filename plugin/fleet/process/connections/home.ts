/** What a connection that can come back keeps: only where the run reconnects, since there is one for each connection. */
import type { RecoverableSession } from '../../client/client.ts';

/** From a drop until all namespaces are back. */
export interface Absence {
  /** Of the drop. */
  reason: string;
  sinceUs: number;
  attempts: number;
  /** Namespaces that are not back yet. */
  waiting: readonly string[];
  sessions: readonly RecoverableSession[];
  /** Which the ledger knows it by; a recovered session keeps it. */
  slot: number;
  interest: Set<string> | undefined;
  /** The transport is open again. */
  isBack: boolean;
  /** The session of a namespace was restored. */
  isRecovered: boolean;
  /** The ledger has it as a new connection. */
  isRenewed: boolean;
}

/** What makes the connection a member of a room. */
export interface Join {
  namespace: string;
  event: string;
  args: unknown[];
}

export interface Home {
  /** Those that were opened, and not ended by the server. */
  namespaces: readonly string[];
  joins: readonly Join[];
  away: Absence | undefined;
}

const NO_JOINS: readonly Join[] = [];
const NO_NAMESPACES: readonly string[] = [];
/** Nearly all connections have the same single namespace, and can share its list. */
const only = new Map<string, readonly string[]>();

export function newHome(): Home {
  return { namespaces: NO_NAMESPACES, joins: NO_JOINS, away: undefined };
}

/** Of the connection before: the engine sends the same payload, as one object, for a batch of connections. */
let lastOnly: readonly [Join] | undefined;

export function withJoin(joins: readonly Join[], { namespace, event, args }: Join): readonly Join[] {
  if (joins.length > 0) return [...joins, { namespace, event, args }];
  const [last] = lastOnly ?? [];
  if (!lastOnly || last?.namespace !== namespace || last.event !== event || last.args !== args) {
    lastOnly = [{ namespace, event, args }];
  }
  return lastOnly;
}

export function withNamespace(namespaces: readonly string[], namespace: string): readonly string[] {
  if (namespaces.includes(namespace)) return namespaces;
  if (namespaces.length > 0) return [...namespaces, namespace];
  const shared = only.get(namespace) ?? [namespace];
  only.set(namespace, shared);
  return shared;
}

export function without(namespaces: readonly string[], namespace: string): readonly string[] {
  const others = namespaces.filter((other) => other !== namespace);
  return others.length === 0 ? NO_NAMESPACES : others;
}
