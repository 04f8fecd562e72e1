/**
 * Converts a browser's recorded session (HAR file) to the input of `init`: logins, connection options, joins, and the
 * event that makes the server broadcast.
 */
import { basename } from 'node:path';
import { formatJsonPath } from '../../../../protocol/base/json-path.ts';
import { printableLine } from '../../../../protocol/base/printable.ts';
import { isSecretName } from '../../../../protocol/base/secrets/secret-text.ts';
import { CapacityError } from '../../../../protocol/codes/errors.ts';
import { type EventPaths, findEventPaths } from '../../../run/broadcasts/find-paths.ts';
import { isTemplate } from '../../../script/is-template.ts';
import type { InitAnswers } from '../options.ts';
import type { StarterOptions } from '../starter-scenario.ts';
import { type ForwardedValue, findForwardedValues } from './forwarded-values.ts';
import { escapeTemplates, type HarEntry, readHar } from './har-file.ts';
import {
  DEFAULT_SOCKETIO_PATH,
  type RecordedConnection,
  type RecordedPacket,
  recordedConnectionsIn,
} from './recorded-connections.ts';
import {
  addOriginRequests,
  cookieOrigins,
  HAR_CLOCK_MS,
  httpStepOf,
  loginBefore,
  ownHeaders,
  secretsOfLogin,
  stepRequestsIn,
} from './recorded-requests.ts';
import { isOpaqueValue, RecordedValues } from './recorded-values.ts';

export interface HarRecording {
  /** Options of `init` from the recorded session. They still contain secrets. */
  answers: InitAnswers;
  /** Proposed values of the option `publish`. The most likely value comes first. */
  publishes: string[];
  /** Events that the server sent after the messages in `publishes`, in the same order. */
  deliveries: EventPaths[];
  /** Event with an id that the server sent by itself, without a message from the client. */
  sentByItself: EventPaths | undefined;
  engine: Pick<StarterOptions, 'transports' | 'addTrailingSlash'>;
  /** Secret values from the recorded session, which must not be written to any file. */
  secrets: Set<string>;
  /** Notes for the user on parts of the session that were found, missing or left out. */
  notes: string[];
}

/** Largest number of times that an event can be sent in a session and still count as a join. */
const MAX_REPEATED = 10;
const MAX_STEPS = 30;
const MAX_NOTE_LENGTH = 500;
const JWT = /^eyJ[\w-]{8,}\.[\w-]+\.[\w-]*$/;

/**
 * Converts a HAR file to the input of `init`.
 * @param given options of `init`; `url` and `namespace` choose the connection
 * @throws CapacityError FILE_UNREADABLE; Unsupported for Socket.IO 2
 */
export function readHarRecording(path: string, given: InitAnswers): HarRecording {
  const entries = readHar(path);
  const connections = recordedConnectionsIn(entries);
  const origin = URL.canParse(String(given.url)) ? new URL(String(given.url)).origin : undefined;
  const [connection, ...others] = [
    ...connections.filter((one) => one.origin === origin),
    ...connections.filter((one) => one.origin !== origin),
  ];
  if (!connection) {
    throw new CapacityError(
      'FILE_UNREADABLE',
      `${path} has no Socket.IO connection among its ${entries.length} requests`,
      'open the developer tools before the page, and save the file while the page is open',
    );
  }
  const recording = recordingOf(entries, connection, given.namespace as string | undefined);
  const file = basename(path);
  const elsewhere = others.filter((other) => other.origin !== connection.origin || other.path !== connection.path);
  recording.notes.unshift(
    `From ${file}: ${connection.origin}${connection.path}, ${connection.packets.length} packets.`,
    ...elsewhere.map(
      (other) => `${file} also has a connection to ${other.origin}${other.path}: --url ${other.origin} takes it.`,
    ),
  );
  recording.notes = recording.notes.map((note) => printableLine(note, MAX_NOTE_LENGTH));
  return recording;
}

function recordingOf(entries: HarEntry[], connection: RecordedConnection, chosen: string | undefined): HarRecording {
  const { handshake, packets, origin, query, path, transports } = connection;
  const namespace = chosen ?? namespaceOf(packets);
  const requests = stepRequestsIn(entries);
  const login = loginBefore(requests, connection);
  const received = packets.filter((packet) => !packet.isSent && isUsable(packet));
  const values = new RecordedValues([...requests, ...received], login);
  const notes: string[] = [];
  const echoes = findForwardedValues(packets.filter((packet) => packet.namespace === namespace));
  const emits = emitsBefore(echoes[0], packets, notes);

  const connectedAt = { atMs: handshake.startedAtMs + HAR_CLOCK_MS };
  const connect = packets.find((one) => one.kind === 'connect' && one.isSent && one.namespace === namespace);
  const auth = values.filled(connect?.data ?? {}, { atMs: connect?.atMs ?? connectedAt.atMs }) as object;
  const filledQuery = values.filled(query, connectedAt);
  const headers = values.filled(ownHeaders(handshake), connectedAt);
  const filledEvent = ({ atMs }: RecordedPacket, args: unknown[]) => values.filled(args, { atMs, isEvent: true });
  const filledEmits = emits.map((packet) => ({ packet, args: filledEvent(packet, packet.data as unknown[]) }));
  const published = echoes.map(({ packet, args }) => ({ packet, args: filledEvent(packet, args) }));

  const cookies = cookieOrigins(requests, connection);
  const used = [...values.used].filter((from) => !('kind' in from)) as HarEntry[];
  const needed = addOriginRequests([...used, ...cookies.origins, ...(login ? [login] : [])], values, origin);
  const isFirst = ({ startedAtMs }: HarEntry) => startedAtMs <= handshake.startedAtMs;
  const cookie = needed.length === 0 ? cookies.unknown.map(({ name, value }) => `${name}=${value}`).join('; ') : '';
  if (cookie !== '') {
    notes.push('The session’s cookie was set before the recording: record the login, too, or set COOKIE for each run.');
  }
  const steps: { atMs: number; step: Record<string, unknown> }[] = [
    ...needed
      .filter((entry) => !isFirst(entry))
      .map((entry) => ({
        atMs: entry.startedAtMs,
        step: httpStepOf(entry, values, origin),
      })),
    ...[...values.used].flatMap((from) =>
      'kind' in from && from.kind === 'event' ? [{ atMs: from.atMs, step: waitFor(from, values) }] : [],
    ),
    ...filledEmits.map(({ packet, args }) => ({ atMs: packet.atMs, step: emitStep(packet, args, packets, values) })),
  ];
  const sorted = steps
    .sort((a, b) => a.atMs - b.atMs)
    .map(({ step }) => step)
    .filter((step) => !isUnwritable(step, notes))
    .slice(0, MAX_STEPS);
  const url = new URL(origin);
  for (const [name, value] of Object.entries(filledQuery)) url.searchParams.set(name, value);
  const allHeaders = cookie === '' ? headers : { ...headers, cookie };
  const loginSteps = needed.filter(isFirst).map((entry) => httpStepOf(entry, values, origin));
  notes.push(...notesOf(connection, loginSteps, echoes));
  const json = (list: unknown[]) => list.map((one) => JSON.stringify(one)).join(', ');
  return {
    answers: {
      url: url.href,
      ...(path !== DEFAULT_SOCKETIO_PATH && { path }),
      ...(namespace !== '/' && { namespace }),
      ...(Object.keys(auth).length > 0 && { auth: JSON.stringify(auth) }),
      ...(Object.keys(allHeaders).length > 0 && { headers: JSON.stringify(allHeaders) }),
      ...(loginSteps.length > 0 && { login: json(loginSteps) }),
      ...(sorted.length > 0 && { emit: json(sorted) }),
    },
    publishes: published.map(({ args }) => JSON.stringify(args)),
    deliveries: echoes.map(({ event, id }) => ({ event, id, sentAt: undefined, unusableTime: undefined })),
    sentByItself: byItself(received.filter((packet) => packet.kind === 'event' && packet.namespace === namespace)),
    engine: {
      ...(transports.includes('polling') && { transports }),
      ...(path.endsWith('/') ? {} : { addTrailingSlash: false as const }),
    },
    secrets: new Set([
      ...needed.flatMap((entry) => (entry === login || isFirst(entry) ? secretsOfLogin(entry) : [])),
      ...literalsIn([auth, filledQuery, allHeaders], true),
      ...literalsIn(filledEmits.map(({ args }) => args)),
    ]),
    notes,
  };
}

/**
 * Returns an event with an id that the server sent by itself. Whether two connections receive the same id is checked
 * later, on the server.
 */
function byItself(events: RecordedPacket[]): EventPaths | undefined {
  const messages = events.map(({ data, atMs }) => {
    const [event, ...args] = data as [string, ...unknown[]];
    return { event, args, receivedAtUs: atMs * 1000 };
  });
  const paths = findEventPaths([messages, messages]);
  return paths && !isTemplate([paths.event, paths.id]) ? { ...paths, sentAt: undefined } : undefined;
}

/** Returns the namespace with the most packets. */
function namespaceOf(packets: RecordedPacket[]): string {
  const counts = [...Map.groupBy(packets, ({ namespace }) => namespace)];
  return counts.sort(([, a], [, b]) => b.length - a.length)[0]?.[0] ?? '/';
}

/**
 * Returns the events that the client sent before it published, without duplicates. Leaves out events that were sent
 * very often.
 */
function emitsBefore(echo: ForwardedValue | undefined, packets: RecordedPacket[], notes: string[]): RecordedPacket[] {
  const sent = packets.filter((packet) => packet.isSent && packet.kind === 'event');
  const seen = new Set<string>();
  const noted = new Set<string>();
  return sent.filter((packet) => {
    const [event] = packet.data as [string];
    const isPublished = echo !== undefined && (event === echo.sent || packet.atMs > echo.packet.atMs);
    const text = JSON.stringify([packet.namespace, packet.data]);
    if (isPublished || seen.has(text)) return false;
    seen.add(text);
    const count = sent.filter(({ data }) => (data as [string])[0] === event).length;
    if (count <= MAX_REPEATED) return true;
    if (!noted.has(event))
      notes.push(`The client sent ${JSON.stringify(event)} ${count} times: the flow does not. See the step \`every\`.`);
    noted.add(event);
    return false;
  });
}

function isUsable({ kind, data }: RecordedPacket): boolean {
  return kind !== 'connect' && Array.isArray(data);
}

function emitStep(
  packet: RecordedPacket,
  args: unknown[],
  packets: RecordedPacket[],
  values: RecordedValues,
): Record<string, unknown> {
  const { id, namespace, atMs } = packet;
  const answer = packets.find(
    (one) => !one.isSent && one.kind === 'ack' && one.id === id && one.namespace === namespace && one.atMs >= atMs,
  );
  const captures = answer ? values.capturesOf(answer) : [];
  return {
    emit: args,
    ...(namespace !== '/' && { namespace }),
    ...(id !== undefined && answer && { acknowledge: captures.length > 0 ? { capture: captures } : true }),
  };
}

function waitFor(packet: RecordedPacket, values: RecordedValues): Record<string, unknown> {
  const [event] = packet.data as [string];
  const namespace = packet.namespace === '/' ? {} : { namespace: packet.namespace };
  return { waitFor: { event: escapeTemplates(event), ...namespace, capture: values.capturesOf(packet) } };
}

/** Returns whether the step contains binary data, which a YAML scenario cannot contain. Adds a note if so. */
function isUnwritable(step: Record<string, unknown>, notes: string[]): boolean {
  const [event] = (step.emit ?? []) as unknown[];
  if (event === undefined || !hasBytes(step)) return false;
  notes.push(`The client sent ${JSON.stringify(event)} with bytes, which a scenario cannot have: it was left out.`);
  return true;
}

function hasBytes(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return ArrayBuffer.isView(value) || Object.values(value).some(hasBytes);
}

/** Returns the texts inside a value that may be secret. Templates are left out. */
function literalsIn(value: unknown, isSecretPlace = false, key = ''): string[] {
  if (typeof value === 'string') {
    const isSecret = JWT.test(value) || ((isSecretPlace || isSecretName(key)) && isOpaqueValue(value, key));
    return isSecret && !isTemplate(value) ? [value] : [];
  }
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return [];
  return Object.entries(value).flatMap(([name, inside]) =>
    literalsIn(inside, isSecretPlace, Array.isArray(value) ? key : name),
  );
}

function notesOf(connection: RecordedConnection, login: object[], echoes: ForwardedValue[]): string[] {
  const { lacksFrames, undecodable, packets } = connection;
  const [best, ...others] = echoes;
  const names = (list: ForwardedValue[]) => [
    ...new Set(list.map(({ sent, event }) => `${JSON.stringify(sent)} → ${JSON.stringify(event)}`)),
  ];
  return [
    ...login.map((step) => {
      const [[method, request] = ['', {}]] = Object.entries(step);
      const { url, capture } = request as { url: string; capture?: object | object[] };
      const variables = [capture ?? []].flat().map((one) => (one as { as: string }).as);
      const what = variables.length > 0 ? `, which gives ${variables.join(', ')}` : '';
      return `Before it connects: ${method.toUpperCase()} ${url.split('?')[0]}${what}.`;
    }),
    ...(best
      ? [
          `Its ${JSON.stringify(best.sent)} came back as ${JSON.stringify(best.event)}, at ${formatJsonPath(best.id)}.`,
          ...names(others)
            .filter((name) => !names([best]).includes(name))
            .map((name) => `It could also count ${name}: give that by --publish.`),
        ]
      : []),
    ...(lacksFrames
      ? [
          'The file has no messages of the WebSocket, so joins and events in them are unknown: save it with Chrome or Edge, whose files have them, or give --emit and --publish.',
        ]
      : []),
    ...(undecodable > 0
      ? [`${undecodable} messages are not of Socket.IO’s own parser, and were left out: see the option \`parser\`.`]
      : []),
    ...(packets.length === 0 && !lacksFrames ? ['The connection has no packets: save the answers, too.'] : []),
  ];
}
