/** Counts of HTTP requests that Artillery's HTTP engine sends: requests = responses + failures + pending. */
import { addToOwnCounter, ownProperty } from '../../protocol/base/sum-counts.ts';
import type { HttpEngine } from './artillery-types.ts';

type HttpCounts = ReturnType<typeof newHttpCounts>;

export function newHttpCounts() {
  return {
    /** Number of requests, including redirects. */
    requests: 0,
    pending: 0,
    responses: {} as Record<string, number>,
    /** Number of requests without a response, by error code. */
    failures: {} as Record<string, number>,
  };
}

/**
 * Makes the engine count all its requests from now on.
 * @returns the same engine
 */
export function countRequests(engine: HttpEngine, counts: HttpCounts): HttpEngine {
  const { request: send } = engine;
  engine.request = (options) => {
    const sending = send(options);
    let open = 0;
    sending.on('request', (request) => {
      counts.requests++;
      counts.pending++;
      open++;
      request.once('response', ({ statusCode }: { statusCode: number }) => {
        if (open === 0) return;
        open--;
        counts.pending--;
        addToOwnCounter(counts.responses, String(statusCode), 1);
      });
    });
    sending.catch((error: NodeJS.ErrnoException) => {
      if (open > 0) countError(counts.failures, error, open);
      counts.pending -= open;
      open = 0;
    });
    return sending;
  };
  return engine;
}

/** Largest number of distinct errors that are counted by name. */
const MAX_NAMES = 20;

/** Counts an error by its code, or by its message if it has no code, as in Artillery's engines. */
export function countError(
  failures: Record<string, number>,
  { code, message }: NodeJS.ErrnoException,
  times = 1,
): void {
  const name = (typeof code === 'string' ? code : String(message))
    .slice(0, 60)
    .replace(/\W+/g, '_')
    .replace(/^_+|_+$/g, '')
    .toLowerCase();
  const isCounted = ownProperty(failures, name) !== undefined || Object.keys(failures).length < MAX_NAMES;
  addToOwnCounter(failures, isCounted ? name : 'other', times);
}
