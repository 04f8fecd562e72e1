/**
 * Does the work `count` times, `together` at a time. After the first failure, nothing more is started.
 * @throws that failure, once everything that was started has ended
 */
export async function mapLimit(count: number, together: number, work: () => Promise<void>): Promise<void> {
  let left = count;
  const next = async () => {
    while (left-- > 0) await work();
  };
  const failures: unknown[] = [];
  const worker = () =>
    next().catch((error) => {
      left = 0;
      failures.push(error);
    });
  await Promise.all(Array.from({ length: together }, worker));
  if (failures.length > 0) throw failures[0];
}
