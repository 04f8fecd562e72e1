/** A first scenario for the user's own server, with explaining comments. */

import { formatJsonPath } from '../../../protocol/base/json-path.ts';
import { isLoopback } from '../../../protocol/base/machine/loopback.ts';
import type { Transport } from '../../../protocol/wire/connection.ts';
import { wrapText } from '../../../report/text/format.ts';
import type { EventPaths } from '../../run/broadcasts/find-paths.ts';
import type { ListeningProcesses } from '../../run/target/target-listeners.ts';
import { exactRamp } from '../../script/load/phases.ts';
import type { EmissionOption } from '../../script/options/delivery-options.ts';
import { ENGINE_NAME, PLUGIN_NAME } from '../../script/script.ts';
import { shellQuotedPath } from '../command.ts';
import { type ClientRoom, ROOM_VARIABLE } from './client-room.ts';

export interface StarterOptions {
  /** Origin of the server. It has no path, because Artillery would prepend it to the paths of HTTP steps. */
  url: string;
  /** Path of Engine.IO on the server; undefined for the default path. */
  path?: string;
  /** Module of the server's parser; undefined for Socket.IO's own. */
  parser?: string;
  /** False if the server expects the path without a trailing slash. */
  addTrailingSlash?: false;
  /** Transports to use if the server does not accept WebSocket alone, which is the default. */
  transports?: Transport[];
  connections: number;
  /** Steps with which a virtual user logs in, connects and joins. */
  flow: Record<string, unknown>[];
  /** Control port of the server's first process, if the server calls `instrument(io)`; otherwise undefined. */
  controlUrl: string | undefined;
  /** Event that makes the server broadcast. Undefined if the server broadcasts by itself. */
  publish: EmissionOption | undefined;
  /** Event that a run of the scenario counts; undefined if none was found. The names in it contain no templates. */
  delivery: EventPaths | undefined;
  /** Part of the option `delivery` that describes the rooms; undefined if the event goes to all connections. */
  rooms?: ClientRoom['delivery'] | undefined;
  /** Example of a room's name, for which the flow has a variable. */
  room?: unknown;
  /** Description of the events that `init` received, on one line. Undefined if the server was not examined. */
  finding: string | undefined;
  /** Notes on the browser's recording from which the scenario is made. Each note is a paragraph. */
  recorded?: string[];
  /** Environment variables that the flow needs, with commands to set them. */
  environment?: string[];
  /** Names of events without an id that were received repeatedly. A run can only count their copies per connection. */
  withoutId?: string[];
  /** Processes on this machine that listen on the server's port. */
  processes: ListeningProcesses | undefined;
}

/** Returns the engine's options for the scenario, and for the clients of `init`. */
export function engineOptionsOf({
  path,
  parser,
  addTrailingSlash,
  transports,
}: Pick<StarterOptions, 'path' | 'parser' | 'addTrailingSlash' | 'transports'>): object {
  return {
    ...(path !== undefined && { path }),
    ...(parser !== undefined && { parser }),
    ...(addTrailingSlash === false && { addTrailingSlash }),
    ...(transports && { transports }),
  };
}

/** Room that the flow joins if the server calls `instrument(io)`. */
export const STARTER_ROOM = 'capacity';

const COMMENT_WIDTH = 120;
/**
 * Number of plateaus in a new scenario. With four plateaus, the confidence interval of the memory slope would be 1.6
 * times as wide.
 */
const PLATEAUS = 6;
const PAUSE_SECONDS = 4;
const MAX_RATE_PER_SEC = 500;
/** Shortest ramp of a new scenario in seconds. Artillery spaces arrivals within a single second by 1 ms. */
const MIN_RAMP_SECONDS = 2;

/** Matches characters that a terminal or an editor would hide or execute. */
const HARMFUL = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/**
 * Returns the text of a first scenario. Names from a server or user are quoted, and harmful characters escaped.
 * @param file name of the new file, which comments mention
 */
export function starterScenario(starter: StarterOptions, file: string): string {
  const { url, controlUrl, connections, flow, room } = starter;
  const lines = [
    ...commented([
      ...headOf(starter, file),
      ...(starter.recorded ? ['', ...starter.recorded.flatMap((note) => wrapText(note, COMMENT_WIDTH, '  '))] : []),
      ...(starter.environment ? ['', ...starter.environment] : []),
    ]),
    'config:',
    `  target: ${json(url)}`,
    '  engines:',
    '    # Options for all connections: transports, tls, parser, …',
    `    ${ENGINE_NAME}: ${onOneLine(engineOptionsOf(starter))}`,
    ...(room === undefined
      ? []
      : ['  # Rooms: each user is in one of them.', `  variables: ${onOneLine({ [ROOM_VARIABLE]: [room] })}`]),
    '  plugins:',
    `    ${PLUGIN_NAME}:`,
    ...(controlUrl ? instrumented(controlUrl) : plain(starter)).map((line) => `      ${line}`),
    '    ensure: {}',
    '  # Exit code 1 if a threshold is missed. Any metric of the run can be one.',
    '  ensure:',
    '    thresholds: [{ connections.failed: 1 }]',
    ...(controlUrl ? ['    conditions: [{ expression: "socketio.delivery.coverage >= 1", strict: true }]'] : []),
    '  # Ramps of the same size, each followed by a pause.',
    '  phases:',
    ...rampsTo(connections).map((phase) => `    - ${onOneLine(phase)}`),
    'scenarios:',
    '  - name: join and stay',
    `    engine: ${ENGINE_NAME}`,
    '    flow:',
    ...flow.flatMap(stepLines),
    '      # Stay connected until everything is measured.',
    '      - hold: true',
    '',
  ];
  return lines.join('\n').replace(HARMFUL, escaped);
}

/** Returns the value as JSON, which is also valid YAML. Text is always quoted, so YAML does not interpret it. */
function json(value: unknown): string {
  return JSON.stringify(value);
}

/** Returns the lines of a step, one for each key. */
function stepLines(step: object): string[] {
  return Object.entries(step).map(
    ([key, value], index) => `${index === 0 ? '      - ' : '        '}${key}: ${json(value)}`,
  );
}

/** Returns a map on one line, such as `{ pause: 4 }`. */
function onOneLine(options: object): string {
  const all = Object.entries(options).map(([key, value]) => `${key}: ${json(value)}`);
  return all.length === 0 ? '{}' : `{ ${all.join(', ')} }`;
}

/** Returns the character in the escaped form that YAML has for texts in quotes. */
function escaped(character: string): string {
  const code = (character.codePointAt(0) as number).toString(16);
  return code.length > 4 ? `\\U${code.padStart(8, '0')}` : `\\u${code.padStart(4, '0')}`;
}

function commented(lines: string[]): string[] {
  return lines.map((line) => `# ${line}`.trimEnd());
}

function rampsTo(connections: number): object[] {
  const connectedAt = (plateau: number) => Math.round((connections * plateau) / PLATEAUS);
  return Array.from({ length: PLATEAUS }, (_, index) => index + 1).flatMap((plateau) => [
    { name: `ramp to ${connectedAt(plateau)}`, ...rampOf(connectedAt(plateau) - connectedAt(plateau - 1)) },
    { name: `plateau ${connectedAt(plateau)}`, pause: PAUSE_SECONDS },
  ]);
}

/** Returns a ramp of arrivals whose rate is the same in every second, unless such a ramp would be much longer. */
function rampOf(arrivals: number): ReturnType<typeof exactRamp> {
  const shortest = Math.max(MIN_RAMP_SECONDS, Math.ceil(arrivals / MAX_RATE_PER_SEC));
  const durations = Array.from({ length: shortest + 3 }, (_, longer) => shortest + longer);
  return exactRamp(arrivals, arrivals / (durations.find((seconds) => arrivals % seconds === 0) ?? shortest));
}

function headOf(
  { controlUrl, connections, delivery, processes, withoutId = [] }: StarterOptions,
  file: string,
): string[] {
  const size = `${connections.toLocaleString('en-US')} connections to your own server`;
  const counted = delivery
    ? 'It also counts who gets each message, and when.'
    : withoutId.length > 0
      ? 'It also counts how many copies of its events each connection gets.'
      : 'To count messages, too, see `delivery` below.';
  if (!controlUrl) {
    return [
      `${size}, without instrument(io).`,
      '',
      `  npx artillery run ${shellQuotedPath(file)}`,
      '',
      'It measures how many connections are made and kept, how long connecting takes, what fails, and memory and CPU',
      `${processes ? 'of `workers`' : 'if you set `workers`'}. ${counted}`,
      ...(processes?.inspect
        ? []
        : [
            'To also measure memory at rest of a Node server, call instrument(io) in it and create this file again:',
            '  npx socketio-capacity init --instrumented',
          ]),
    ];
  }
  const { hostname } = new URL(controlUrl);
  // The control port listens on loopback only, unless the option `controlHost` is set.
  const host = isLoopback(hostname) ? '' : ` controlHost: ${json(hostname)},`;
  return [
    `${size}, with all figures.`,
    '',
    'In each process of the server, with its own port and name:',
    "  import { instrument } from 'socketio-capacity-instrument';",
    `  await instrument(io, { token: process.env.CAPACITY_TOKEN, rooms: ['${STARTER_ROOM}'], controlPort: 3200,${host} worker: 'w0' });`,
    '',
    'Then, with the same CAPACITY_TOKEN of at least 16 characters on both sides:',
    `  npx socketio-capacity doctor ${shellQuotedPath(file)}     does it fit?`,
    `  npx artillery run ${shellQuotedPath(file)}`,
    '',
    'The environment variables TARGET, RATE, HOLD, BROADCASTS, TRANSPORTS and COMPRESSION override this file.',
  ];
}

/** Returns the plugin's options for a server that calls `instrument(io)`. */
function instrumented(controlUrl: string): string[] {
  return [
    '# The room that the flow below joins. Nobody else may be in it.',
    `room: ${STARTER_ROOM}`,
    'control:',
    '  # The controlPort of each process of the server. Never expose it to the internet.',
    `  urls: [${json(controlUrl)}]`,
    '  token: "{{ $env.CAPACITY_TOKEN }}"',
    ...HOLD,
    '# How many broadcasts are counted, and the seconds between them.',
    'broadcasts: { count: 20, interval: 1, bytes: 1000 }',
  ];
}

/** Text that explains the option `inspect`. */
export const INSPECT_HELP = [
  '`inspect` collects the garbage before each reading of memory. In Node, SIGUSR1 opens the inspector for that, on 127.0.0.1, where',
  'any user of this machine can attach to it: remove it to read memory with its garbage. `profile: true` beside it (Node) shows',
  'which functions allocate it.',
];

const HOLD = ['# Seconds to hold all connections, while they are idle.', 'hold: 10'];

/**
 * Returns the plugin's options for a server without `instrument(io)`. Comments in them suggest further measurements.
 */
function plain({ delivery, rooms, publish, finding, processes, withoutId = [] }: StarterOptions): string[] {
  const workers = processes
    ? [
        '# The server’s processes, for memory and CPU.',
        ...(processes.inspect ? commented(INSPECT_HELP) : []),
        `workers: ${onOneLine(processes)}`,
      ]
    : commented(['For memory and CPU, name the processes: workers: {pids, match, cgroup or prometheus}']);
  const seen = finding ? commented(wrapText(`What init saw: ${finding}`, COMMENT_WIDTH, '')) : [];
  if (!delivery) {
    const emit = publish ? listOf(publish) : ['<event of a client>', { id: '$id' }];
    return [
      ...HOLD,
      ...workers,
      ...seen,
      ...(withoutId.length > 0
        ? ['# Events without ids: how many copies each connection gets.', `counts: ${json(withoutId)}`]
        : []),
      ...commented([
        'To measure who gets each message: name an event that the server sends to every connection, where its id is, and what',
        'makes the server send it; leave `publish` out if it sends by itself.',
        `delivery: { event: "<event of the server>", id: $.0.id, publish: { emit: ${json(emit)} } }`,
      ]),
    ];
  }
  const { event, id, sentAt } = delivery;
  return [
    ...HOLD,
    ...seen,
    '# The event to count; the path of its id, which differs between broadcasts; and of the time at which it was sent.',
    'delivery:',
    `  event: ${json(event)}`,
    `  id: ${json(formatJsonPath(id))}`,
    ...(sentAt ? [`  sentAt: ${json(formatJsonPath(sentAt))}`] : []),
    ...(rooms?.join ? [`  join: ${json(rooms.join)}`] : []),
    ...(rooms
      ? ['  # Only a room’s connections get what is sent to it.', `  audience: ${onOneLine(rooms.audience)}`]
      : []),
    ...(publish
      ? [
          '  # One more connection emits this: `count` times, every `every` seconds.',
          `  publish: ${onOneLine({ emit: listOf(publish), every: 1, count: 20 })}`,
        ]
      : ['# How many broadcasts are counted, and the seconds between them.', 'broadcasts: { count: 20, interval: 1 }']),
    ...workers,
  ];
}

function listOf({ event, args }: EmissionOption): unknown[] {
  return [event, ...args];
}
