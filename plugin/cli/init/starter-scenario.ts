/** A first scenario for a user's own server, with comments that explain it. */
import { formatJsonPath } from '../../../protocol/json-path.ts';
import { isLoopback } from '../../../protocol/machine/loopback.ts';
import type { Paths } from '../../run/own-event/find-paths.ts';
import type { Emission } from '../../script/options/delivery-options.ts';

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
  /** What can be counted of what such a server sends, if that was found. */
  delivery: Paths | undefined;
  /** What the server sent, on one line; undefined if nobody looked. */
  finding: string | undefined;
}

const PLATEAUS = 4;
const PAUSE_SECONDS = 4;
const MAX_RATE = 500;
/** Within a single second, Artillery spaces arrivals by 1 ms. */
const MIN_RAMP_SECONDS = 2;
/** Time for the last connection's event, after the last phase. */
const EVENT_GRACE_SECONDS = 30;

interface Ramp {
  seconds: number;
  ratePerSec: number;
}

/** @returns YAML with comments */
export function starterScenario(starter: Starter): string {
  const ramps = rampsOf(starter.connections);
  let connected = 0;
  const phases = ramps.flatMap(({ seconds, ratePerSec }) => {
    connected += seconds * ratePerSec;
    return [
      `    - { name: ramp to ${connected}, duration: ${seconds}, arrivalRate: ${ratePerSec}, rampTo: ${ratePerSec} }`,
      `    - { name: plateau ${connected}, pause: ${PAUSE_SECONDS} }`,
    ];
  });
  const totalSeconds = ramps.reduce((sum, { seconds }) => sum + seconds + PAUSE_SECONDS, 0);
  const measured = starter.controlUrls ? instrumented(starter, starter.controlUrls) : plain(starter);
  return [
    ...head(starter),
    'config:',
    `  target: ${quoted(starter.url)}`,
    '  engines:',
    '    # Options for your server: auth, headers, query, path, tls, …',
    '    socketio-capacity: {}',
    ...measured,
    '  # Flat ramps, each followed by a pause.',
    '  phases:',
    ...phases,
    '',
    'scenarios:',
    '  - name: join and stay',
    '    engine: socketio-capacity',
    '    flow:',
    ...flow(starter, totalSeconds),
    '',
  ].join('\n');
}

/** Of the same size, or nearly so where that gives no flat ramps of whole seconds. */
function rampsOf(connections: number): Ramp[] {
  const share = Math.round(connections / PLATEAUS);
  for (let away = 0; ; away++) {
    for (const arrivals of [share - away, share + away]) {
      const [ramp, last] = [rampOf(arrivals), rampOf(connections - arrivals * (PLATEAUS - 1))];
      if (ramp && last) return [...Array<Ramp>(PLATEAUS - 1).fill(ramp), last];
    }
  }
}

/** Whole seconds and whole connections per second, at most 500/s. */
function rampOf(arrivals: number): Ramp | undefined {
  if (arrivals <= 0) return undefined;
  const shortest = Math.max(MIN_RAMP_SECONDS, Math.ceil(arrivals / MAX_RATE));
  for (let seconds = shortest; seconds <= 2 * shortest + 2; seconds++) {
    if (arrivals % seconds === 0) return { seconds, ratePerSec: arrivals / seconds };
  }
  return undefined;
}

function head({ controlUrls, join, connections, delivery }: Starter): string[] {
  const size = `# ${connections.toLocaleString('en-US')} connections to your own server`;
  const run = ['#   npx artillery run <this file>', '#'];
  if (!controlUrls) {
    return [
      `${size}, without instrument(io).`,
      '#',
      ...run,
      '# It measures how many connections are made and kept, how long connecting takes, what fails, and memory and CPU if',
      `# it is told of the processes. ${delivery ? 'It also counts who gets each message, and when.' : 'To count messages, too, see `delivery` below.'}`,
      '# To also measure memory at rest, call instrument(io) in the server and create this file again:',
      '#   npx socketio-capacity init --instrumented',
    ];
  }
  const { hostname } = new URL(controlUrls[0] as string);
  // Without it, the port listens on loopback only.
  const host = isLoopback(hostname) ? '' : ` controlHost: ${quoted(hostname)},`;
  const rooms = join ? ` rooms: [${quoted(join.args[0])}],` : '';
  return [
    `${size}, with all figures.`,
    '#',
    '# In each process of the server, with its own port and name:',
    "#   import { instrument } from 'socketio-capacity-instrument';",
    `#   await instrument(io, { token: process.env.CAPACITY_TOKEN,${rooms} controlPort: 3200,${host} worker: 'w0' });`,
    '#',
    '# Then, with the same CAPACITY_TOKEN of at least 16 characters on both sides:',
    '#   npx socketio-capacity doctor <this file>     does it fit?',
    ...run,
    '# The environment variables TARGET, RATE, HOLD, BROADCASTS, TRANSPORTS and COMPRESSION override this file.',
  ];
}

function instrumented({ join }: Starter, controlUrls: string[]): string[] {
  return [
    '  plugins:',
    '    socketio-capacity:',
    '      # The room that the flow below joins. Nobody else may be in it.',
    ...(join ? [`      room: ${quoted(join.args[0])}`] : []),
    '      control:',
    '        # The controlPort of each process. Never expose it to the internet.',
    `        urls: [${controlUrls.map(quoted).join(', ')}]`,
    '        token: "{{ $env.CAPACITY_TOKEN }}"',
    '      # Idle seconds with all clients connected; then broadcasts: how many, seconds between them, characters.',
    '      hold: 10',
    '      broadcasts: { count: 20, interval: 1, bytes: 1000 }',
    '    ensure: {}',
    '  # Exit code 1 if one is missed. Any metric of the run can be used here.',
    '  ensure:',
    '    thresholds:',
    '      - connections.failed: 1',
    '    conditions:',
    '      - expression: socketio.delivery.coverage >= 1',
    '        strict: true',
  ];
}

function plain(starter: Starter): string[] {
  return [
    '  plugins:',
    '    socketio-capacity:',
    '      # Seconds to hold all connections.',
    '      hold: 10',
    '      # Memory and CPU need to know the processes: workers: { pids, match, cgroup or prometheus }',
    ...(starter.delivery ? counted(starter, starter.delivery) : proposed(starter)),
    '    ensure: {}',
    '  # In percent of virtual users. Exit code 1 if it is missed.',
    '  ensure:',
    '    maxErrorRate: 0',
  ];
}

function counted({ join, publish }: Starter, { event, id, sentAt }: Paths): string[] {
  const path = (steps: Paths['id']) => quoted(formatJsonPath(steps));
  return [
    '      # The event that is counted; where in its arguments an id tells one broadcast from another; when it was sent.',
    '      delivery:',
    `        event: ${quoted(event)}`,
    `        id: ${path(id)}`,
    ...(sentAt ? [`        sentAt: ${path(sentAt)}`] : []),
    ...(publish
      ? [
          '        # One more connection emits this, `count` times, `every` so many seconds.',
          '        publish:',
          `          emit: ${list(publish)}`,
          ...(join ? [`          before: [${list(join)}]`] : []),
          '          every: 1',
          '          count: 20',
        ]
      : [
          '      # The server sends by itself: listens for count × interval seconds.',
          '      broadcasts: { count: 20, interval: 1 }',
        ]),
  ];
}

/** Where there is nothing to count, what to fill in. */
function proposed({ event, finding, join, publish }: Starter): string[] {
  const emit = publish ? list(publish) : '["<event of a client>", { "id": "$id" }]';
  return [
    ...(finding ? [`      # ${finding}`] : []),
    '      # To measure who gets each message: name an event that the server sends to everybody, where its id is, and what',
    '      # makes the server send it; leave `publish` out if it sends by itself.',
    '      # delivery:',
    `      #   event: ${quoted(event ?? '<event of the server>')}`,
    '      #   id: $.0.id',
    `      #   publish: { emit: ${emit}${join ? `, before: [${list(join)}]` : ''} }`,
  ];
}

function flow({ join, controlUrls, event, delivery }: Starter, seconds: number): string[] {
  // Only a step that needs a connection opens one, and `hold` does not.
  const lines = [join ? `      - emit: ${list(join)}` : '      - connect: true'];
  if (event && !controlUrls && !delivery) {
    lines.push(
      '      # A connection that has not received the event by then fails with wait_timeout.',
      `      - waitFor: { event: ${quoted(event)}, timeout: ${seconds + EVENT_GRACE_SECONDS} }`,
    );
  }
  return [...lines, '      # Stay connected until everything is measured.', '      - hold: true'];
}

function list({ event, args }: Emission): string {
  return quoted([event, ...args]);
}

/** JSON is also YAML. */
function quoted(value: unknown): string {
  return JSON.stringify(value);
}
