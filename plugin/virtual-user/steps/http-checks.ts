/**
 * Explains which `capture` or `match` of an HTTP step failed, and lists the field names of the response. Values are not
 * printed, because they may be secret.
 */
import type { IncomingMessage } from 'node:http';
import { printableLine } from '../../../protocol/base/printable.ts';
import { tryOrUndefined } from '../../../protocol/base/try-or-undefined.ts';
import { FlowError } from '../flow-error.ts';
import type { ArtilleryHelpers, UserContext, UserOutcome } from '../user-types.ts';

const MAX_BODY_BYTES = 100_000;
const MAX_NAMES = 20;
const MAX_TEXT_LENGTH = 200;
/** Error message of Artillery's HTTP engine for a failed capture or match. */
const FAILED_CHECK = 'Failed capture or match';

type Check = Record<string, unknown>;

/** A response whose captures or matches may fail. */
export interface CheckedAnswer {
  response: IncomingMessage;
  /** Returns the part of the response's body that has been received so far. */
  body(): string;
}

interface Failed {
  error: Error;
  /** Request line of the request, and status of the response. */
  status: string;
  answer: CheckedAnswer | undefined;
}

/** Keeps the start of a response's body while Artillery reads it. */
export function checkedAnswer(response: IncomingMessage): CheckedAnswer {
  const chunks: Buffer[] = [];
  let bytes = 0;
  response.on('data', (chunk: Buffer) => {
    if (bytes < MAX_BODY_BYTES) chunks.push(Buffer.from(chunk));
    bytes += chunk.length;
  });
  return { response, body: () => Buffer.concat(chunks).toString() };
}

/**
 * Returns the error for a failed check.
 * @param request options of the HTTP step, with its `capture` and `match`
 * @returns undefined for any other error
 */
export function failedCheck(
  request: { capture?: unknown; match?: unknown },
  { error, status, answer }: Failed,
  helpers: ArtilleryHelpers,
  context: UserContext,
): FlowError | undefined {
  if (error.message !== FAILED_CHECK || !answer) return undefined;
  const { response } = answer;
  // An error response usually has different fields, so its status is reported.
  if ((response.statusCode ?? 0) >= 400) return new FlowError('failed_request', status, { cause: error });
  const body = answer.body();
  const { headers } = response;
  const evaluate = (params: { capture?: unknown; match?: unknown }): UserOutcome | null => {
    let outcome: UserOutcome | null = null;
    helpers.captureOrMatch(params, { body, headers } as { body: unknown }, context, (_error, result) => {
      outcome = result;
    });
    return outcome;
  };
  for (const match of [request.match ?? []].flat() as Check[]) {
    const matches = Object.values(evaluate({ match: [match] })?.matches ?? {});
    if (match.strict === false || matches.every(({ success }) => success === true)) continue;
    const wanted = 'value' in match ? ` is not ${JSON.stringify(match.value)}` : ' does not match';
    return new FlowError('failed_match', `${status}, but ${placeOf(match)}${wanted}: ${namesIn(body)}`, {
      cause: error,
    });
  }
  for (const capture of [request.capture ?? []].flat() as Check[]) {
    if (Object.values(evaluate({ capture: [capture] })?.captures ?? {}).every(({ failed }) => !failed)) continue;
    const name = printableLine(String(capture.as), MAX_TEXT_LENGTH);
    const found = `${status}, but has nothing at ${placeOf(capture)} to capture as ${name}: ${namesIn(body)}`;
    return new FlowError('failed_capture', `${found}; which one is the ${name}?`, { cause: error });
  }
  return undefined;
}

function placeOf({ json, header, cookie, ...others }: Check): string {
  if (typeof json === 'string') return printableLine(json, MAX_TEXT_LENGTH);
  if (typeof header === 'string') return `the header ${printableLine(header, MAX_TEXT_LENGTH)}`;
  return printableLine(JSON.stringify({ ...others, as: undefined, value: undefined }), MAX_TEXT_LENGTH);
}

/** Returns the names of a response's fields as text, such as `the answer has: accessToken, user (id, name)`. */
function namesIn(body: string): string {
  const value: unknown = tryOrUndefined(() => JSON.parse(body));
  if (typeof value !== 'object' || value === null) return `the answer is ${body === '' ? 'empty' : 'no JSON object'}`;
  const names = Object.entries(value)
    .slice(0, MAX_NAMES)
    .map(([name, inside]) => {
      const isNested = typeof inside === 'object' && inside !== null && !Array.isArray(inside);
      const nested = isNested ? Object.keys(inside).slice(0, MAX_NAMES).join(', ') : '';
      return nested === '' ? name : `${name} (${nested})`;
    });
  return Array.isArray(value)
    ? 'the answer is a list'
    : `the answer has: ${printableLine(names.join(', '), MAX_TEXT_LENGTH)}`;
}
