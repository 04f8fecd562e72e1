/**
 * Stores the finalized broadcasts of the server's own event in bounded memory. In a long run, one row sums up several
 * consecutive broadcasts. The sums, histograms and completion times of a row stay exact.
 */
import { createHistogram, decodeHistogram, encodeHistogram, recordUs } from '../../../protocol/base/histogram.ts';
import { emptyLedgerRow, type FreezeRequest, type FrozenBroadcast } from '../../../protocol/link/ledger-messages.ts';
import { RECEIPT_COUNTS } from '../../../protocol/result/delivery-schema.ts';
import { ALL_RECEIVERS_ROOM } from '../../../protocol/wire/rooms.ts';
import type { HostedRow } from '../link.ts';
import type { SentBroadcast } from './publish.ts';

const MAX_ROWS = 2000;
const EMPTY = encodeHistogram(createHistogram());

interface Row {
  sent: SentBroadcast;
  frozen: FrozenBroadcast;
}

export class LedgerRows {
  /** Send and completion times of each broadcast, even if a row sums up several broadcasts. */
  readonly each = { completionUs: createHistogram(), sendDelayUs: createHistogram() };
  readonly #maxRows: number;
  #rows: Row[] = [];
  /** Number of broadcasts that a full row sums up. */
  #width = 1;
  /** Number of broadcasts that the last row sums up so far. */
  #filled = 1;

  constructor(maxRows = MAX_ROWS) {
    this.#maxRows = maxRows;
  }

  get sent(): SentBroadcast[] {
    return this.#rows.map(({ sent }) => sent);
  }

  get frozen(): FrozenBroadcast[] {
    return this.#rows.map(({ frozen }) => frozen);
  }

  add(orders: FreezeRequest[], pages: HostedRow[]): void {
    const bySeq = Map.groupBy(pages, ({ seq }) => seq);
    for (const order of orders.toSorted((a, b) => a.seq - b.seq)) {
      const [first = emptyLedgerRow(order.seq), ...others] = (bySeq.get(order.seq) ?? []).map(withoutHost);
      recordUs(this.each.sendDelayUs, order.sentAtUs - order.intendedAtUs);
      const frozen = others.map(withProcessChecksum).reduce(mergeRows, { ...first, process: 0 });
      if (frozen.received > 0 && !frozen.untimed) recordUs(this.each.completionUs, frozen.lastUs);
      this.#add({ sent: sentOwnEventRow(order), frozen });
    }
  }

  #add(row: Row): void {
    const last = this.#rows.at(-1);
    if (last && this.#filled < this.#width) {
      this.#rows[this.#rows.length - 1] = mergeConsecutive(last, row);
      this.#filled++;
      return;
    }
    if (this.#rows.length >= this.#maxRows) this.#halve();
    this.#rows.push(row);
    this.#filled = 1;
  }

  #halve(): void {
    const pairs: Row[] = [];
    for (let index = 0; index + 1 < this.#rows.length; index += 2)
      pairs.push(mergeConsecutive(this.#rows[index] as Row, this.#rows[index + 1] as Row));
    this.#rows = pairs;
    this.#width *= 2;
  }
}

/**
 * Mixes the number of the fleet process into the checksum of receivers, because all processes use the same connection
 * numbers.
 */
function withProcessChecksum(page: FrozenBroadcast, index: number): FrozenBroadcast {
  return { ...page, receivers: Math.imul(page.receivers, 2 * index + 3) >>> 0 };
}

function mergeConsecutive(a: Row, b: Row): Row {
  const broadcasts = (a.sent.broadcasts ?? 1) + (b.sent.broadcasts ?? 1);
  const room = a.sent.room === b.sent.room ? a.sent.room : ALL_RECEIVERS_ROOM;
  return { sent: { ...a.sent, room, broadcasts }, frozen: mergeRows(a.frozen, b.frozen) };
}

function mergeRows(a: FrozenBroadcast, b: FrozenBroadcast): FrozenBroadcast {
  const counts = Object.fromEntries(RECEIPT_COUNTS.map((key) => [key, a[key] + b[key]]));
  const timed = [a, b].filter(({ received, untimed }) => received > 0 && !untimed);
  const { untimed: _, ...rest } = a;
  return {
    ...rest,
    ...(counts as Pick<FrozenBroadcast, (typeof RECEIPT_COUNTS)[number]>),
    receivers: (a.receivers + b.receivers) >>> 0,
    earlyByUs: Math.max(a.earlyByUs, b.earlyByUs),
    latencyUs: {
      local: addHistograms(a.latencyUs.local, b.latencyUs.local),
      cross: addHistograms(a.latencyUs.cross, b.latencyUs.cross),
    },
    firstUs: timed.length > 0 ? Math.min(...timed.map(({ firstUs }) => firstUs)) : 0,
    lastUs: timed.length > 0 ? Math.max(...timed.map(({ lastUs }) => lastUs)) : 0,
    ...(a.untimed && b.untimed ? { untimed: true } : {}),
  };
}

function addHistograms(a: string, b: string): string {
  if (b === EMPTY) return a;
  if (a === EMPTY) return b;
  const both = decodeHistogram(a);
  both.add(decodeHistogram(b));
  return encodeHistogram(both);
}

/**
 * Returns the row of a broadcast of the server's own event. Such a broadcast has no send time from a worker and no
 * member count.
 */
export function sentOwnEventRow({
  seq,
  room,
  sentAtUs,
  intendedAtUs,
  latencyFromAtUs,
}: Pick<FreezeRequest, 'seq' | 'room' | 'sentAtUs' | 'intendedAtUs' | 'latencyFromAtUs'>): SentBroadcast {
  const timed = latencyFromAtUs === undefined ? {} : { latencyFromAtUs };
  const times = { sentAtUs, intendedAtUs, stampedAtUs: sentAtUs, ...timed };
  return { seq, room, ...times, worker: '', via: 0, expected: null };
}

function withoutHost({ host: _, ...page }: HostedRow): FrozenBroadcast {
  return page;
}
