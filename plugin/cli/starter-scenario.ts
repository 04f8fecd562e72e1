/** A first scenario for somebody's own server, that explains itself. */

export interface Starter {
  /** An absolute URL. */
  url: string;
  /** About how many; the ramps are of whole seconds. */
  connections: number;
  /** What a connection emits to be in the room, and the room; with `instrument(io)` the event is `join_room`. */
  join: { event: string; room: string } | undefined;
  /** One for each worker of a server that calls `instrument(io)`; undefined for any other server. */
  controlUrls: string[] | undefined;
  /** What the server sends to all; asked for only where there is no ledger to tell what arrived. */
  event: string | undefined;
}

const PLATEAUS = 4;
const PAUSE_SECONDS = 4;
const MAX_RATE = 500;
/** A ramp of Artillery's lasts at least that. */
const MIN_RAMP_SECONDS = 2;
/** For the last connection's event, after the last phase. */
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
    '    # auth, headers, query, path, tls … of your server: see the options of the engine.',
    '    socketio-capacity: {}',
    ...measured,
    '  # Flat ramps, with a pause after each.',
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

/** Whole seconds and whole connections per second, at 500/s at most; of a few connections less where they do not divide. */
function rampOf(arrivals: number): { seconds: number; rate: number } {
  const shortest = Math.max(MIN_RAMP_SECONDS, Math.ceil(arrivals / MAX_RATE));
  for (let seconds = shortest; seconds <= 2 * shortest; seconds++) {
    if (arrivals % seconds === 0) return { seconds, rate: arrivals / seconds };
  }
  return rampOf(arrivals - 1);
}

function head({ controlUrls, join }: Starter, connections: number): string[] {
  const size = `# ${connections.toLocaleString('en-US')} connections to a server of your own`;
  const run = ['#   npx artillery run <this file>', '#'];
  if (!controlUrls) {
    return [
      `${size}, as it is.`,
      '#',
      ...run,
      '# It tells how many connections are made and kept, how long that takes, and what fails. What a connection costs, who',
      '# missed a broadcast and how long the others waited only the server can help to tell: call instrument(io) in it,',
      '# and write this file anew with: npx socketio-capacity init --instrumented',
    ];
  }
  const rooms = join ? ` rooms: [${quoted(join.room)}],` : '';
  return [
    `${size}, with all figures.`,
    '#',
    '# In each process of the server, with a port and a name of its own:',
    "#   import { instrument } from 'socketio-capacity-instrument';",
    `#   await instrument(io, { token: process.env.CAPACITY_TOKEN,${rooms} controlPort: 3200, worker: 'w0' });`,
    '#',
    '# Then, with the same CAPACITY_TOKEN of at least 16 characters on both sides:',
    '#   npx socketio-capacity doctor <this file>     does it fit?',
    ...run,
    '# TARGET, RATE, HOLD and BROADCASTS change it from outside.',
  ];
}

function instrumented({ join }: Starter, controlUrls: string[]): string[] {
  return [
    '  plugins:',
    '    socketio-capacity:',
    '      # The room of the flow below, with nobody else in it.',
    ...(join ? [`      room: ${quoted(join.room)}`] : []),
    '      control:',
    '        # The controlPort of each process; never open to the world.',
    `        urls: [${controlUrls.map(quoted).join(', ')}]`,
    '        token: "{{ $env.CAPACITY_TOKEN }}"',
    '      # Idle seconds at full target, then the broadcasts: how many, seconds between two, characters.',
    '      hold: 10',
    '      broadcasts: { count: 20, interval: 1, bytes: 1000 }',
    '    ensure: {}',
    '  # Exit code 1 where one is missed; every metric of the run can stand here.',
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
  '  # Exit code 1 where it is missed: percent of virtual users.',
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
      '      # A connection that has not got one until then fails with wait_timeout.',
      `      - waitFor: { event: ${quoted(event)}, timeout: ${seconds + EVENT_GRACE_SECONDS} }`,
    );
  }
  return [...lines, '      # Stays connected until everything is measured.', '      - hold: true'];
}

/** JSON's strings are YAML's, too. */
function quoted(text: string): string {
  return JSON.stringify(text);
}
