/** Servers that keep memory of connections outside their processes, and a server without fault. */
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import type { FindingCode } from '../../../protocol/codes/finding-codes.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { kilobytesText } from '../../../report/text/format.ts';
import { startOrphan } from '../process.ts';
import type { Cleaner } from '../raw-listen.ts';
import { assertNames } from '../verdict.ts';

const scriptOf = (name: string) => fileURLToPath(new URL(`../../fixtures/${name}`, import.meta.url));

/** Bytes kept for each connection. */
const BYTES = 64 * 1024;
/** Memory that Node itself needs in a process for each stored value. */
const OVERHEAD_BYTES = 4 * 1024;

interface Pids {
  server: number;
  store: number;
}

export interface ApartMember {
  /** Text that completes "a server that …". */
  name: string;
  keeps?: 'shared' | 'store';
  /** Process ids for the option `workers`. Default: only the server. */
  measured?: (pids: Pids) => number[];
  reasons: FindingCode[];
  check(result: Result, pids: Pids): void;
}

/** Starts the server. It is stopped after the test. */
export async function startApartServer(t: Cleaner, { keeps }: ApartMember) {
  const store = keeps === 'store' ? await startOrphan(t, scriptOf('apart-store.mjs')) : undefined;
  const where = store ? await store.line() : (keeps ?? '');
  const server = await startOrphan(t, scriptOf('apart-server.mjs'), where);
  const url = `http://127.0.0.1:${await server.line()}`;
  return { url, pids: { server: server.pids[0] ?? 0, store: store?.pids[0] ?? 0 } };
}

type Grown = { bytes: number; low95: number | null; high95: number | null } | undefined;

function assertHas(grown: Grown, bytes: number): void {
  const { low95, high95 } = grown ?? {};
  assert.ok(low95 && high95 && low95 <= bytes && bytes <= high95, `${bytes} B in ${JSON.stringify(grown)}`);
}

export const apart: ApartMember[] = [
  {
    name: 'keeps everything in its own process',
    reasons: [],
    check({ memory: { balance } }) {
      const { parts = [], holders = [] } = balance ?? {};
      assert.deepEqual(
        [...parts, ...holders].filter(({ isSignificant }) => isSignificant),
        [],
      );
      assert.ok(parts.some(({ part }) => part === 'shared'));
    },
  },
  {
    name: 'keeps 64 KB for each connection in /dev/shm',
    keeps: 'shared',
    reasons: ['MEMORY_UNEXPLAINED'],
    check({ memory: { balance }, findings }) {
      const grown = balance?.holders.find(({ name }) => name === 'files of /dev/shm');
      assertHas(grown, BYTES);
      const message = findings.find(({ code }) => code === 'MEMORY_UNEXPLAINED')?.message;
      assertNames(message, [`${kilobytesText(grown?.bytes ?? 0)} KB`, 'files of /dev/shm']);
    },
  },
  {
    name: 'keeps 64 KB for each connection in a process beside it',
    keeps: 'store',
    reasons: ['MEMORY_UNEXPLAINED'],
    check({ memory: { balance }, findings }, { store }) {
      const grown = balance?.holders.find(({ pid }) => pid === store);
      assert.ok(grown?.isSignificant, JSON.stringify(balance));
      assertHas(grown, BYTES + OVERHEAD_BYTES);
      const found = findings.find(({ code }) => code === 'MEMORY_UNEXPLAINED');
      assertNames(found?.message, [`process ${store} (`, 'apart-store.mjs']);
      assertNames(found?.fix, [store]);
    },
  },
  {
    name: 'keeps 64 KB for each connection in a process that is configured as a worker',
    keeps: 'store',
    measured: ({ server, store }) => [server, store],
    reasons: ['PROCESS_WITHOUT_CONNECTIONS'],
    check({ findings }, { store }) {
      const message = findings.find(({ code }) => code === 'PROCESS_WITHOUT_CONNECTIONS')?.message ?? '';
      assertNames(message, [`process ${store} (`, 'apart-store.mjs']);
    },
  },
];
