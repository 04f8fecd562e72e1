/** A first scenario for a user's own server, with comments that explain it. */

export interface Starter {
  /** An absolute URL. */
  url: string;
  /** Approximate, because ramps last whole seconds. */
  connections: number;
  /** The event that a connection emits to join, and the room; with `instrument(io)` the event is `join_room`. */
  join: { event: string; room: string } | undefined;
  /** One for each worker of a server that calls `instrument(io)`; undefined for any other server. */
  controlUrls: string[] | undefined;
  /** The event that the server sends to the room; needed only without `instrument(io)`, where there is no ledger. */
  event: string | undefined;
}

const PLATEAUS = 4;
const PAUSE_SECONDS = 4;
const MAX_RATE = 500;
/** The shortest ramp. */
const MIN_RAMP_SECONDS = 2;
/** Time for the last connection's event, after the last phase. */
const EVENT_GRACE_SECONDS = 30;

/** @returns YAML with comments */
export function starterScenario(starter: Starter): string {
  const ramp = rampOf(Math.max(MIN_RAMP_SECONDS, Math.round(starter.connections / PLATEAUS)));
  const step = ramp.seconds * ramp.rate;
  const phases = Array.from({ length: PLATEAUS }, (_, index) => [
    `    - { name: ramp to ${step * (index + 1)}, duration: ${ramp.seconds}, arrivalRate: ${ramp.rate}, rampTo: ${ramp.rate} }`,
    `    - { name: plateau ${step * (index + 1)}, pause: ${PAUSE_SECONDS} }`,
  ]).flat();
  const measured = starter.controlUrls ? instrumented(starter, starter.controlUrls) : CONNECTIONS_ONLY;
  return [
    ...head(starter, step * PLATEAUS),
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
    ...flow(starter, PLATEAUS * (ramp.seconds + PAUSE_SECONDS)),
    '',
  ].join('\n');
}

/** Whole seconds and whole connections per second, at most 500/s; a few connections fewer if they do not divide evenly. */
function rampOf(arrivals: number): { seconds: number; rate: number } {
  const shortest = Math.max(MIN_RAMP_SECONDS, Math.ceil(arrivals / MAX_RATE));
  for (let seconds = shortest; seconds <= 2 * shortest; seconds++) {
    if (arrivals % seconds === 0) return { seconds, rate: arrivals / seconds };
  }
  return rampOf(arrivals - 1);
}

function head({ controlUrls, join }: Starter, connections: number): string[] {
  const size = `# ${connections.toLocaleString('en-US')} connections to your own server`;
  const run = ['#   npx artillery run <this file>', '#'];
  if (!controlUrls) {
    return [
      `${size}, without instrument(io).`,
      '#',
      ...run,
      '# It measures how many connections are made and kept, how long connecting takes, and what fails. To also measure the',
      '# cost of a connection, and the delivery and latency of broadcasts, call instrument(io) in the server and',
      '# create this file again: npx socketio-capacity init --instrumented',
    ];
  }
  const rooms = join ? ` rooms: [${quoted(join.room)}],` : '';
  return [
    `${size}, with all figures.`,
    '#',
    '# In each process of the server, with its own port and name:',
    "#   import { instrument } from 'socketio-capacity-instrument';",
    `#   await instrument(io, { token: process.env.CAPACITY_TOKEN,${rooms} controlPort: 3200, worker: 'w0' });`,
    '#',
    '# Then, with the same CAPACITY_TOKEN of at least 16 characters on both sides:',
    '#   npx socketio-capacity doctor <this file>     does it fit?',
    ...run,
    '# The environment variables TARGET, RATE, HOLD and BROADCASTS override this file.',
  ];
}

function instrumented({ join }: Starter, controlUrls: string[]): string[] {
  return [
    '  plugins:',
    '    socketio-capacity:',
    '      # The room that the flow below joins. Nobody else may be in it.',
    ...(join ? [`      room: ${quoted(join.room)}`] : []),
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

const CONNECTIONS_ONLY = [
  '  plugins:',
  '    ensure: {}',
  '  # In percent of virtual users. Exit code 1 if it is missed.',
  '  ensure:',
  '    maxErrorRate: 0',
];

function flow({ join, controlUrls, event }: Starter, seconds: number): string[] {
  const room = join && quoted(join.room);
  const lines: string[] = [];
  if (join && controlUrls) lines.push(`      - emit: [join_room, ${room}]`);
  else if (join) lines.push(`      - emit: [${quoted(join.event)}, ${room}]`);
  if (event && !controlUrls) {
    lines.push(
      '      # A connection that has not received the event by then fails with wait_timeout.',
      `      - waitFor: { event: ${quoted(event)}, timeout: ${seconds + EVENT_GRACE_SECONDS} }`,
    );
  }
  return [...lines, '      # Stay connected until everything is measured.', '      - hold: true'];
}

/** A JSON string is also a YAML string. */
function quoted(text: string): string {
  return JSON.stringify(text);
}
