/** Payloads of all sizes, and known shares of wrong ones: is every copy counted in its column? */
import { CONTENT_CHECK_EVERY } from '../../plugin/fleet/process/ledger/ledger.ts';
import { batchRows } from '../../plugin/result/delivery/delivery.ts';
import { type Comparison, exactly, known, type Section } from './comparison.ts';
import type { Wrong } from './known-server.ts';
import { broadcast, join, withSetup } from './setup.ts';

interface PayloadsSize {
  members: number;
  /** Characters. */
  sizes: number[];
  /** Members whose copy is a character too long. */
  victims: number;
}

const INTERVAL_MS = 300;
/** One whose copies are all right, one with wrong sizes, one with wrong content. */
const BROADCASTS = 3;

export async function payloads(size: PayloadsSize): Promise<Section> {
  const rows: Comparison[] = [];
  for (const bytes of size.sizes) rows.push(...(await measure(size, bytes)));
  return {
    title: 'Payloads',
    text:
      `${size.members} members receive three broadcasts of each size: one correct, one with ${size.victims} copies that are a ` +
      'character too long, and one in which the last character differs in all copies but the first. The generator compares ' +
      `one copy in ${CONTENT_CHECK_EVERY}, so it must find exactly this share.`,
    rows,
  };
}

async function measure({ members, victims }: PayloadsSize, bytes: number): Promise<Comparison[]> {
  const wrong: Record<number, Wrong> = { 2: { size: victims }, 3: { content: true } };
  return withSetup(
    { wrong },
    async (setup) => {
      await join(setup.fleet, members);
      const receipts = BROADCASTS * members;
      const measured = await broadcast(setup, { count: BROADCASTS, intervalMs: INTERVAL_MS, receipts, bytes });
      const rows = batchRows(measured);
      const what = `${bytes.toLocaleString('en')} characters`;
      const found = Math.floor(members / CONTENT_CHECK_EVERY);
      return [
        exactly(`${what}: received`, members, known(rows[0]?.received)),
        exactly(`${what}, wrong size: received`, members - victims, known(rows[1]?.received)),
        exactly(`${what}, wrong size: wrongSize`, victims, known(rows[1]?.wrongSize)),
        exactly(`${what}, wrong content: received`, members - found, known(rows[2]?.received)),
        exactly(`${what}, wrong content: wrongContent`, found, known(rows[2]?.wrongContent)),
      ];
    },
    { plan: { count: BROADCASTS, bytes } },
  );
}
