/** Records how connections closed. Connections that their virtual users closed are not recorded. */

import { printable } from '../../../../protocol/base/printable.ts';
import { addEnd, type EndKind } from '../../../../protocol/link/ends.ts';
import type { Client } from '../../client/client.ts';
import type { Failure } from '../../client/failure.ts';

const MAX_TEXT_LENGTH = 120;

export class Ends {
  readonly #kinds: EndKind[] = [];

  record(end: EndKind): void {
    addEnd(this.#kinds, end);
  }

  snapshot(): EndKind[] {
    return structuredClone(this.#kinds);
  }
}

/**
 * Describes how a connection ended.
 * @param reason Socket.IO's disconnect reason
 * @param why further details of the transport
 * @param secrets secrets of the connection, which are masked in texts
 */
export function endOf(
  { traffic }: Client,
  reason: string,
  ageMs: number,
  why: Failure | undefined,
  secrets?: string[],
): EndKind {
  const { sent, received, largestSentBytes, announced, lastEvent } = traffic;
  return {
    ...{ reason, cause: why?.cause ?? '', count: 1, announced },
    event: lastEvent ? printable(lastEvent.name, MAX_TEXT_LENGTH, secrets) : '',
    words: why ? printable(why.message, MAX_TEXT_LENGTH, secrets) : '',
    text: lastEvent ? printable(lastEvent.textOf(traffic), MAX_TEXT_LENGTH, secrets) : '',
    samples: [[Math.max(0, Math.round(ageMs)), sent, received, largestSentBytes]],
  };
}
