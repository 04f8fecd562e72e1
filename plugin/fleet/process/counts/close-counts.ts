/** Records how connections closed. Connections that their virtual users closed are not recorded. */

import { printableLine } from '../../../../protocol/base/printable.ts';
import { addCloseKind, type CloseKind } from '../../../../protocol/link/close-kinds.ts';
import type { Client } from '../../client/client.ts';
import type { ConnectionFailure } from '../../client/failure.ts';

const MAX_TEXT_LENGTH = 120;

export class CloseCounts {
  readonly #kinds: CloseKind[] = [];

  record(end: CloseKind): void {
    addCloseKind(this.#kinds, end);
  }

  snapshot(): CloseKind[] {
    return structuredClone(this.#kinds);
  }
}

/**
 * Describes how a connection ended.
 * @param reason Socket.IO's disconnect reason
 * @param why further details of the transport
 * @param secrets secrets of the connection, which are masked in texts
 */
export function closeKindOf(
  { traffic }: Client,
  reason: string,
  ageMs: number,
  why: ConnectionFailure | undefined,
  secrets?: string[],
): CloseKind {
  const { sent, received, largestSentBytes, announced, lastEvent } = traffic;
  return {
    ...{ reason, cause: why?.cause ?? '', count: 1, announced },
    event: lastEvent ? printableLine(lastEvent.name, MAX_TEXT_LENGTH, secrets) : '',
    closeText: why ? printableLine(why.message, MAX_TEXT_LENGTH, secrets) : '',
    text: lastEvent ? printableLine(lastEvent.textOf(traffic), MAX_TEXT_LENGTH, secrets) : '',
    samples: [[Math.max(0, Math.round(ageMs)), sent, received, largestSentBytes]],
  };
}
