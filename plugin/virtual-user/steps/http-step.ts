import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { errorPageText, networkCause } from '../../fleet/client/failure.ts';
import { FlowError } from '../flow-error.ts';
import type { CompiledStep } from '../virtual-user.ts';
import { type CheckedAnswer, checkedAnswer, failedCheck } from './http-checks.ts';
import { defineStep, type StepBuildContext, type StepKind } from './step.ts';

const METHODS = ['get', 'post', 'put', 'patch', 'delete', 'head', 'options'] as const;

/** Artillery's HTTP engine reads all other keys: `json`, `headers`, `capture`, `match`, `ifTrue`, … */
const requestSchema = z
  .looseObject(
    {
      url: z.string().optional().describe('a path on the target, or a whole URL'),
      uri: z.string().optional().describe('the same'),
    },
    { error: 'expected a request: {url: /path}' },
  )
  .refine(({ url, uri }) => url !== undefined || uri !== undefined, { error: 'needs a url' });

function httpStep(method: string): StepKind {
  return defineStep({
    schema: z.strictObject({
      [method]: requestSchema.describe('sends an HTTP request by Artillery’s own engine, with all of its keys'),
    }),
    http: true,
    compile: (spec, build) => compileRequests(spec, method.toUpperCase(), build),
  });
}

/**
 * `get: {url: /login, capture: {json: $.token, as: token}}`: sends a request with Artillery's HTTP engine. The other
 * HTTP methods work in the same way.
 */
export const httpSteps = Object.fromEntries(METHODS.map((method) => [method, httpStep(method)]));

/** `parallel: [requests]`: sends HTTP requests concurrently. At most `limit` requests are pending at a time. */
export const parallelStep = defineStep({
  schema: z.strictObject({
    parallel: z
      .array(z.unknown(), { error: 'expected a list of HTTP requests' })
      .min(1, { error: 'expected at least one HTTP request' })
      .refine((steps) => steps.every(isHttpStep), {
        error: 'only HTTP requests can run in parallel: write the other steps before or after',
      })
      .describe('sends HTTP requests at the same time'),
    limit: z.int().positive().optional().describe('how many at the same time; default: 100'),
  }),
  childrenKey: 'parallel',
  http: true,
  compile: (spec, build) => compileRequests(spec, 'parallel', build),
});

function isHttpStep(step: unknown): boolean {
  return typeof step === 'object' && step !== null && METHODS.some((method) => method in step);
}

function compileRequests(spec: Record<string, unknown>, what: string, build: StepBuildContext): CompiledStep {
  build.uses.http = true;
  const request = (spec[what.toLowerCase()] ?? {}) as { capture?: unknown; match?: unknown };
  const hasChecks = request.capture !== undefined || request.match !== undefined;
  return (user) =>
    new Promise((resolve, reject) => {
      let said = what;
      let answer: CheckedAnswer | undefined;
      const emit = (event: string, ...args: unknown[]) => {
        if (!event.startsWith('trace:')) return user.events.emit(event, ...args);
        if (event !== 'trace:http:response') return undefined;
        const response = args[0] as IncomingMessage & Response;
        said = answerOf(response);
        if (hasChecks) answer = checkedAnswer(response);
        if (response.statusCode >= 400) {
          user.refusal = said;
          onWords(response, (words) => {
            said = `${answerOf(response)} (${words})`;
            user.refusal = said;
          });
        }
        return undefined;
      };
      build.shared.http?.step(
        spec,
        { emit },
        build.requestHooks,
      )(user.context, (error) => {
        if (!error) return resolve();
        const { code, message = String(error) } = error as NodeJS.ErrnoException;
        const failed = failedCheck(
          request,
          { error: error as Error, status: said, answer },
          build.shared.helpers,
          user.context,
        );
        if (failed) return reject(failed);
        const cause = code ? networkCause(error as NodeJS.ErrnoException) : 'failed_request';
        reject(new FlowError(cause, `${said}: ${message}`, { cause: error }));
      });
    });
}

/** Number of characters at the start of a response's body that are searched for the server's message. */
const MAX_BODY_LENGTH = 1000;

/**
 * Reads a response's body while Artillery reads it.
 * @param onFound called with the server's message, again whenever more of it has arrived
 */
function onWords(response: IncomingMessage, onFound: (words: string) => void): void {
  const { 'retry-after': retryAfter, 'content-encoding': coding } = response.headers;
  let body = '';
  const tell = () => {
    const words = /\w/.test(body) ? errorPageText(body) : '';
    const all = [words, retryAfter && `Retry-After: ${retryAfter}`].filter(Boolean);
    if (all.length > 0) onFound(all.join(', '));
  };
  tell();
  if (coding !== undefined) return;
  response.on('data', (chunk) => {
    if (body.length >= MAX_BODY_LENGTH) return;
    body = `${body}${chunk}`.slice(0, MAX_BODY_LENGTH);
    tell();
  });
}

/** HTTP response of Node.js, with the properties that this module uses. */
interface Response {
  statusCode: number;
  req: { method: string; path: string };
}

/**
 * Returns the request line and the status of a response as text. The query is left out, because it may contain a
 * password.
 */
function answerOf({ statusCode, req: { method, path } }: Response): string {
  return `${method} ${path.split('?')[0]} answered ${statusCode}`;
}
