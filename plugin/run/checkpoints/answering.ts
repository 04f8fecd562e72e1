/** At the end: whether those still answer without whom figures are missing or wrong. */
import { addWarning, type RunContext } from '../context.ts';

/** The counts of an engine that does not answer are missing from every figure. */
export function checkEngines(context: RunContext): void {
  const { unanswered, silentHosts } = context.link;
  if (unanswered === 0) return;
  const where = silentHosts.size > 0 ? ` on ${[...silentHosts].join(', ')}` : '';
  const message = `Artillery's workers${where} left ${unanswered} requests of the run unanswered`;
  addWarning(context, 'GENERATOR_SILENT', message);
}

/** Without Redis, a broadcast reaches only the members on the publisher's own worker. */
export async function checkRedis(context: RunContext): Promise<void> {
  const { redis, signal } = context;
  if (!redis || signal.aborted || (await redis.read())) return;
  const why = redis.lastFailure ?? 'no answer';
  addWarning(context, 'DEPLOYMENT_CHANGED', `Redis no longer answered at the end: ${why}`);
}
