/** At the end: whether those still answer without whom figures are missing or wrong. */
import { addWarning, type RunContext } from '../context.ts';

/** The counts of an engine that does not answer are missing from every figure. */
export function checkEngines(context: RunContext): void {
  const { unanswered, silentHosts } = context.link;
  if (unanswered === 0) return;
  const where = silentHosts.size > 0 ? ` on ${[...silentHosts].join(', ')}` : '';
  const message = `Artillery's workers${where} left ${unanswered} requests unanswered, and what they counted is not known`;
  addWarning(context, 'ENGINE_SILENT', message, 'give the generator more CPU, or split the load');
}

/** Without Redis, a broadcast reaches only the members on the publisher's own worker. */
export async function checkRedis(context: RunContext): Promise<void> {
  const { redis, signal } = context;
  if (!redis || signal.aborted || (await redis.read())) return;
  const why = redis.lastFailure ?? 'no answer';
  addWarning(context, 'REDIS_GONE', `Redis stopped answering during the run: ${why}`, 'see its log, and restart it');
}
