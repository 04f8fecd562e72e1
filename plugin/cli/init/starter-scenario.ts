/** A first scenario for a user's own server, with comments that explain it. */
import { Document, isMap, isScalar, visit, type YAMLMap } from 'yaml';
import { formatJsonPath } from '../../../protocol/json-path.ts';
import { isLoopback } from '../../../protocol/machine/loopback.ts';
import type { Paths } from '../../run/own-event/find-paths.ts';
import { exactRamp } from '../../script/load/load-profile.ts';
import type { Emission } from '../../script/options/delivery-options.ts';
import { ENGINE, PLUGIN } from '../../script/script.ts';
import { typed } from '../command.ts';

export interface Starter {
  /** An absolute URL. */
  url: string;
  connections: number;
  /** What a connection emits to join; with `instrument(io)` the event is `join_room`, and its argument the room. */
  join: Emission | undefined;
  /** One for each worker of a server that calls `instrument(io)`; undefined for any other server. */
  controlUrls: string[] | undefined;
  /** The event that the server sends to the room; needed only without `instrument(io)`, where there is no ledger. */
  event: string | undefined;
  /** What a client emits to make such a server send to everybody; undefined if it sends by itself. */
  publish: Emission | undefined;
  /** What can be counted of what such a server sends, if that was found. No name in it is a template. */
  delivery: Paths | undefined;
  /** What the server sent, on one line; undefined if nobody looked. */
  finding: string | undefined;
}

const PLATEAUS = 4;
const PAUSE_SECONDS = 4;
const MAX_RATE_PER_SEC = 500;
/** Within a single second, Artillery spaces arrivals by 1 ms. */
const MIN_RAMP_SECONDS = 2;
/** Time for the last connection's event, after the last phase. */
const EVENT_GRACE_SECONDS = 30;

/** What stands above a key, wherever the scenario has it. */
const COMMENTS: Record<string, string> = {
  [`config engines ${ENGINE}`]: 'Options for your server: auth, headers, query, path, tls, …',
  [`config plugins ${PLUGIN} room`]: 'The room that the flow below joins. Nobody else may be in it.',
  [`config plugins ${PLUGIN} control urls`]: 'The controlPort of each process. Never expose it to the internet.',
  [`config plugins ${PLUGIN} hold`]: 'Seconds to hold all connections, while they are idle.',
  [`config plugins ${PLUGIN} delivery`]:
    'The event that is counted; where in its arguments an id tells one broadcast from another; when it was sent.',
  [`config plugins ${PLUGIN} delivery publish`]: 'One more connection emits this, so often, every so many seconds.',
  [`config plugins ${PLUGIN} broadcasts`]: 'How many broadcasts are counted, and the seconds between them.',
  'config ensure': 'Exit code 1 if a threshold is missed. Any metric of the run can be one.',
  'config phases': 'Ramps of the same size, each followed by a pause.',
};

/** What a terminal or an editor would act on, or not show. */
const HARMFUL = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
const FORMAT = { lineWidth: 0, flowCollectionPadding: false, doubleQuotedAsJSON: true };

/**
 * @param file that it will be, for its comments
 * @returns YAML in which names that a server or a person chose are quoted text, harmful characters escaped
 */
export function starterScenario(starter: Starter, file: string): string {
  const { url, controlUrls, connections } = starter;
  const { phases, seconds } = rampsTo(connections);
  const document = new Document({
    config: {
      target: url,
      engines: { [ENGINE]: {} },
      plugins: { [PLUGIN]: controlUrls ? instrumented(starter, controlUrls) : plain(starter), ensure: {} },
      ensure: {
        thresholds: [{ 'connections.failed': 1 }],
        ...(controlUrls && { conditions: [{ expression: 'socketio.delivery.coverage >= 1', strict: true }] }),
      },
      phases,
    },
    scenarios: [{ name: 'join and stay', engine: ENGINE, flow: flowOf(starter, seconds) }],
  });
  document.commentBefore = asComment(headOf(starter, file));
  for (const [path, text] of Object.entries(COMMENTS)) {
    const keys = path.split(' ');
    const pair = mapAt(document, keys.slice(0, -1))?.items.find(
      ({ key }) => isScalar(key) && key.value === keys.at(-1),
    );
    if (isScalar(pair?.key)) pair.key.commentBefore = asComment([text]);
  }
  const plugin = mapAt(document, ['config', 'plugins', PLUGIN]);
  if (plugin && !controlUrls) plugin.comment = asComment(hintsOf(starter));
  return quoted(document).replace(HARMFUL, escaped);
}

function mapAt(document: Document, path: string[]): YAMLMap | undefined {
  const node = document.getIn(path, true);
  return isMap(node) ? node : undefined;
}

/** @returns with all text in quotes, except for keys that are words */
function quoted(document: Document): string {
  visit(document, {
    Scalar: (key, scalar) => {
      const isWord = key === 'key' && /^[a-z][\w.-]*$/i.test(String(scalar.value));
      if (typeof scalar.value === 'string' && !isWord) scalar.type = 'QUOTE_DOUBLE';
    },
  });
  return document.toString(FORMAT);
}

/** As YAML writes it in quotes; in a comment, it means nothing. */
function escaped(character: string): string {
  const code = (character.codePointAt(0) as number).toString(16);
  return code.length > 4 ? `\\U${code.padStart(8, '0')}` : `\\u${code.padStart(4, '0')}`;
}

/** @returns the value on one line, below a comment */
function line(value: object, comment?: string): object {
  const node = new Document(value).contents as object;
  return Object.assign(node, { flow: true }, comment && { commentBefore: asComment([comment]) });
}

function asComment(lines: string[]): string {
  return lines.map((text) => ` ${text}`).join('\n');
}

/** @returns ramps of the same size, each followed by a pause, and how long all of them take */
function rampsTo(connections: number): { phases: unknown[]; seconds: number } {
  const connectedAt = (plateau: number) => Math.round((connections * plateau) / PLATEAUS);
  const ramps = Array.from({ length: PLATEAUS }, (_, plateau) => ({
    connected: connectedAt(plateau + 1),
    ramp: rampOf(connectedAt(plateau + 1) - connectedAt(plateau)),
  }));
  return {
    phases: ramps.flatMap(({ connected, ramp }) => [
      line({ name: `ramp to ${connected}`, ...ramp }),
      line({ name: `plateau ${connected}`, pause: PAUSE_SECONDS }),
    ]),
    seconds: ramps.reduce((sum, { ramp }) => sum + ramp.duration + PAUSE_SECONDS, 0),
  };
}

/** At the same rate in each second, unless that takes much longer. */
function rampOf(arrivals: number): ReturnType<typeof exactRamp> {
  const shortest = Math.max(MIN_RAMP_SECONDS, Math.ceil(arrivals / MAX_RATE_PER_SEC));
  const durations = Array.from({ length: shortest + 3 }, (_, longer) => shortest + longer);
  return exactRamp(arrivals, arrivals / (durations.find((seconds) => arrivals % seconds === 0) ?? shortest));
}

function headOf({ controlUrls, join, connections, delivery }: Starter, file: string): string[] {
  const size = `${connections.toLocaleString('en-US')} connections to your own server`;
  if (!controlUrls) {
    return [
      `${size}, without instrument(io).`,
      '',
      `  npx artillery run ${typed(file)}`,
      '',
      'It measures how many connections are made and kept, how long connecting takes, what fails, and memory and CPU if',
      `you set \`workers\`. ${delivery ? 'It also counts who gets each message, and when.' : 'To count messages, too, see `delivery` below.'}`,
      'To also measure memory at rest, call instrument(io) in the server and create this file again:',
      '  npx socketio-capacity init --instrumented',
    ];
  }
  const { hostname } = new URL(controlUrls[0] as string);
  // Without it, the port listens on loopback only.
  const host = isLoopback(hostname) ? '' : ` controlHost: ${JSON.stringify(hostname)},`;
  const rooms = join ? ` rooms: [${JSON.stringify(join.args[0])}],` : '';
  return [
    `${size}, with all figures.`,
    '',
    'In each process of the server, with its own port and name:',
    "  import { instrument } from 'socketio-capacity-instrument';",
    `  await instrument(io, { token: process.env.CAPACITY_TOKEN,${rooms} controlPort: 3200,${host} worker: 'w0' });`,
    '',
    'Then, with the same CAPACITY_TOKEN of at least 16 characters on both sides:',
    `  npx socketio-capacity doctor ${typed(file)}     does it fit?`,
    `  npx artillery run ${typed(file)}`,
    '',
    'The environment variables TARGET, RATE, HOLD, BROADCASTS, TRANSPORTS and COMPRESSION override this file.',
  ];
}

function instrumented({ join }: Starter, urls: string[]): object {
  return {
    ...(join && { room: join.args[0] }),
    control: { urls: line(urls), token: '{{ $env.CAPACITY_TOKEN }}' },
    hold: 10,
    broadcasts: line({ count: 20, interval: 1, bytes: 1000 }),
  };
}

function plain({ delivery, publish }: Starter): object {
  if (!delivery) return { hold: 10 };
  const { event, id, sentAt } = delivery;
  return {
    hold: 10,
    delivery: {
      event,
      id: formatJsonPath(id),
      ...(sentAt && { sentAt: formatJsonPath(sentAt) }),
      ...(publish && { publish: { emit: line(listOf(publish)), every: 1, count: 20 } }),
    },
    ...(!publish && { broadcasts: line({ count: 20, interval: 1 }) }),
  };
}

/** What else the plugin could measure of a server without instrument(io). */
function hintsOf({ delivery, event, finding, publish }: Starter): string[] {
  const workers = 'Memory and CPU need to know the processes: workers: {pids, match, cgroup or prometheus}';
  if (delivery) return [workers];
  const emit = publish ? listOf(publish) : ['<event of a client>', { id: '$id' }];
  const proposed = {
    event: event ?? '<event of the server>',
    id: '$.0.id',
    publish: line({ emit }),
  };
  return [
    workers,
    ...(finding ? [finding] : []),
    'To measure who gets each message: name an event that the server sends to everybody, where its id is, and what',
    'makes the server send it; leave `publish` out if it sends by itself.',
    ...quoted(new Document({ delivery: proposed }))
      .trimEnd()
      .split('\n'),
  ];
}

function flowOf({ join, controlUrls, event, delivery }: Starter, seconds: number): unknown[] {
  const timeout = seconds + EVENT_GRACE_SECONDS;
  const waits = event && !controlUrls && !delivery;
  return [
    // Only a step that needs a connection opens one, and `hold` does not.
    join ? { emit: line(listOf(join)) } : { connect: true },
    ...(waits
      ? [line({ waitFor: { event, timeout } }, 'Fails with wait_timeout if the event has not come by then.')]
      : []),
    line({ hold: true }, 'Stay connected until everything is measured.'),
  ];
}

function listOf({ event, args }: Emission): unknown[] {
  return [event, ...args];
}
