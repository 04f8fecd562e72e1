/** Memory that the machine's programs took with the connections, and that no measured process has. */
import type { Result } from '../../../protocol/result/result.ts';
import { kilobytes, megabytes } from '../../../report/text/format.ts';
import { type Check, check } from '../check.ts';

export const unexplained: Check[] = [
  check('MEMORY_UNEXPLAINED', ({ memory: { balance } }) =>
    balance?.isSignificant ? unexplainedText(balance) : undefined,
  ),
];

function unexplainedText({
  unexplainedBytes,
  low95,
  high95,
  sharedBytes,
  programs,
}: NonNullable<Result['memory']['balance']>) {
  const interval = `between ${kilobytes(low95 ?? 0)} and ${kilobytes(high95 ?? 0)} KB`;
  const inShared = (sharedBytes ?? 0) > unexplainedBytes / 2;
  const where = [
    ...(inShared ? [`${kilobytes(sharedBytes ?? 0)} KB of it in shared memory (/dev/shm, tmpfs)`] : []),
    ...programs.map(({ pid, command, grewBytes }) => `process ${pid} (${command}) grew by ${megabytes(grewBytes)} MB`),
  ];
  const named = where.length > 0 ? `: ${where.join(', ')}` : '';
  return `programs of this machine took ${kilobytes(unexplainedBytes)} KB per connection (${interval}) beyond the measured processes${named}`;
}
