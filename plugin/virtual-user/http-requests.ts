/** Counts the HTTP requests that Artillery's HTTP engine sends: requests = responses + failures + pending. */
import { addToOwnCounter, ownProperty } from '../../protocol/base/sum-counts.ts';
import type { HttpEngine } from './artillery-types.ts';

type HttpCounts = ReturnType<typeof newHttpCounts>;

export function newHttpCounts() {
  return {
    /** Number of sent HTTP requests. A redirect counts as a further request. */
    requests: 0,
    pending: 0,
    responses: {} as Record<string, number>,
    /** Number of HTTP requests that got no response, by error code. */
    failures: {} as Record<string, number>,
  };
}

/**
 * Makes Artillery's HTTP engine count all its requests from now on.
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

/** Counts an error under its code, or under its message if it has no code, as Artillery's engines do. */
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
