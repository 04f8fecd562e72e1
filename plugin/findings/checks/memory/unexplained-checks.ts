/** Memory of the machine that grew with the connections, and that no measured process has. */
import type { Result } from '../../../../protocol/result/result.ts';
import { kilobytes } from '../../../../report/text/format.ts';
import { type Check, check, type Found } from '../../check.ts';

type Balance = NonNullable<Result['memory']['balance']>;

export const unexplained: Check[] = [
  check('MEMORY_UNEXPLAINED', ({ memory: { balance } }) => (balance ? unexplainedMemory(balance) : undefined)),
];

const PLACES: Record<Balance['parts'][number]['part'], string> = {
  shared: 'shared memory (tmpfs, System V, memfd)',
  programs: 'other programs',
  kernel: 'the kernel',
};

function unexplainedMemory({ parts, holders }: Balance): Found {
  const significant = parts.filter(({ isSignificant }) => isSignificant);
  const certain = holders.filter(({ isSignificant }) => isSignificant);
  if (significant.length + certain.length === 0) return undefined;
  // If no holder is certain, the processes that grew most are suspects.
  const named = certain.length > 0 ? certain : holders;
  const texts = [
    ...significant.map((one) => `${intervalText(one)} in ${PLACES[one.part]}`),
    ...named.map(
      (one) => `${intervalText(one)} in ${one.pid === null ? one.name : `process ${one.pid} (${one.name})`}`,
    ),
  ];
  const message = `the machine took memory per connection beyond the measured processes: ${texts.join('; ')}`;
  const values = [...significant.map((one) => ({ ...one, name: PLACES[one.part] })), ...named].map(
    ({ name, bytes: value, low95, high95 }) => ({ name, value, unit: 'bytes', low95, high95 }),
  );
  const pids = named.flatMap(({ pid }) => pid ?? []);
  if (pids.length === 0) return { message, values };
  const fix = `see whether the server keeps data in process ${pids.join(', ')}: if so, add this to the cost of a connection; if not, end it before the run`;
  return { message, values, fix };
}

function intervalText({ bytes, low95, high95 }: Omit<Balance['parts'][number], 'part'>): string {
  const interval =
    low95 === null || high95 === null ? '' : ` (between ${kilobytes(low95)} and ${kilobytes(high95)} KB)`;
  return `${kilobytes(bytes)} KB${interval}`;
}
