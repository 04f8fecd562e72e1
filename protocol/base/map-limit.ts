/**
 * Calls `work` `count` times, with at most `together` calls at a time. After a failure, no further call is started.
 * @throws the first failure, after all started calls have ended
 */
export async function mapLimit(count: number, together: number, work: () => Promise<void>): Promise<void> {
  let remaining = count;
  const next = async () => {
    while (remaining-- > 0) await work();
  };
  const failures: unknown[] = [];
  const worker = () =>
    next().catch((error) => {
      remaining = 0;
      failures.push(error);
    });
  await Promise.all(Array.from({ length: together }, worker));
  if (failures.length > 0) throw failures[0];
}
