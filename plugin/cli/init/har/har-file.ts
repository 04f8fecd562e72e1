/** Reads a HAR file as saved by a browser. Its content is not trusted: malformed and oversized parts are left out. */
import { readFileSync, statSync } from 'node:fs';
import { z } from 'zod';
import { tryOrUndefined } from '../../../../protocol/base/try-or-undefined.ts';
import { CapacityError } from '../../../../protocol/codes/errors.ts';

const MAX_FILE_BYTES = 256 * 2 ** 20;
const MAX_ENTRIES = 20_000;
const MAX_PAIRS = 500;
const MAX_FRAMES = 50_000;
const MAX_FRAME_LENGTH = 2 ** 20;
const MAX_BODY_LENGTH = 4 * 2 ** 20;
/**
 * Smallest time of a WebSocket frame that is read as milliseconds. Chromium writes these times in seconds, other
 * browsers in milliseconds.
 */
const MILLISECONDS_FROM = 1e11;

export type NameValuePair = z.output<typeof pairSchema>;
export type HarEntry = z.output<typeof entrySchema>;

/** Schema of a list whose invalid items are skipped. */
const listOf = <S extends z.ZodType>(item: S, max: number) =>
  z
    .array(z.unknown())
    .catch([])
    .transform((items) =>
      items.slice(0, max).flatMap((one): z.output<S>[] => {
        const { data, success } = item.safeParse(one);
        return success ? [data] : [];
      }),
    );
const bodyText = z.string().max(MAX_BODY_LENGTH).catch('');
const pairSchema = z.object({ name: z.string(), value: z.string() });
const pairs = listOf(pairSchema, MAX_PAIRS);
const frameSchema = z
  .object({
    type: z.enum(['send', 'receive']),
    time: z.number().catch(0),
    opcode: z.number().catch(1),
    data: z.string().max(MAX_FRAME_LENGTH),
  })
  .transform(({ type, time, opcode, data }) => ({
    isSent: type === 'send',
    atMs: time < MILLISECONDS_FROM ? time * 1000 : time,
    data: opcode === 2 ? Buffer.from(data, 'base64') : data,
  }));
const entrySchema = z
  .object({
    startedDateTime: z.string().transform((text) => Date.parse(text) || 0),
    time: z.number().catch(0),
    request: z.object({
      method: z.string().transform((method) => method.toUpperCase()),
      url: z.url({ protocol: /^(https?|wss?)$/ }).transform((text) => new URL(text)),
      headers: pairs,
      cookies: pairs,
      postData: z
        .object({ mimeType: z.string().catch(''), text: bodyText, params: pairs })
        .optional()
        .catch(undefined),
    }),
    response: z.object({
      status: z.number().catch(0),
      headers: pairs,
      cookies: pairs,
      content: z
        .object({ mimeType: z.string().catch(''), encoding: z.string().catch(''), text: bodyText })
        .catch({ mimeType: '', encoding: '', text: '' }),
    }),
    _webSocketMessages: listOf(frameSchema, MAX_FRAMES).optional(),
  })
  .transform(({ startedDateTime, time, request, response, _webSocketMessages: frames }) => {
    const { text, encoding } = response.content;
    return {
      startedAtMs: startedDateTime,
      endedAtMs: startedDateTime + Math.max(0, time),
      ...request,
      response: {
        ...response,
        text: encoding === 'base64' ? Buffer.from(text, 'base64').toString() : text,
      },
      frames,
    };
  });
const harSchema = z.object({ log: z.object({ entries: z.array(z.unknown()) }) });

/**
 * Returns the requests of the file, ordered by start time.
 * @throws CapacityError FILE_UNREADABLE
 */
export function readHar(path: string): HarEntry[] {
  const refused = (why: string, cause?: unknown) =>
    new CapacityError(
      'FILE_UNREADABLE',
      `${path} cannot be read as a HAR file${why}`,
      'save one in the browser’s developer tools: Network, “Save all as HAR”',
      cause === undefined ? undefined : { cause },
    );
  let text: string;
  try {
    const stats = statSync(path);
    if (!stats.isFile()) throw new Error('it is not a file');
    if (stats.size > MAX_FILE_BYTES) throw new Error(`it has more than ${MAX_FILE_BYTES / 2 ** 20} MB`);
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    throw refused('', cause);
  }
  // The parser's error message quotes the file, which may contain a password, so it is not printed.
  const { data } = harSchema.safeParse(tryOrUndefined(() => JSON.parse(text.replace(/^\uFEFF/, ''))));
  if (!data) throw refused(': it has no `log.entries`');
  return listOf(entrySchema, MAX_ENTRIES)
    .parse(data.log.entries)
    .sort((a, b) => a.startedAtMs - b.startedAtMs);
}

/** Returns the first value of a header; undefined if the header is missing. */
export function firstHeader(headers: NameValuePair[], name: string): string | undefined {
  return headers.find((header) => header.name.toLowerCase() === name)?.value;
}

/**
 * Returns the text with a space inside each `{{`, so that it cannot become a template. Text from a web page or server
 * could otherwise read environment variables, and Artillery has no escape for templates.
 */
export function escapeTemplates(text: string): string {
  return text.replace(/\{(?=\{)/g, '{ ');
}
