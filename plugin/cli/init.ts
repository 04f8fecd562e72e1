/**
 * `init`: writes a first scenario for the user's own server. It uses options or the user's answers to questions, and
 * the events that the server sends.
 */
import { writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { CapacityError } from '../../protocol/codes/errors.ts';
import { OtherOptionsNeededError } from '../run/receivers/explain-failure.ts';
import { listeningProcesses } from '../run/target/target-listeners.ts';
import {
  addHelp,
  addJsonOption,
  COMMAND_LINE_PREFIX,
  parseOptions,
  printJson,
  shellQuotedPath,
  writeOutputFile,
} from './command.ts';
import { askForVariables, hasCredentials, setVariableCommand, withNamedCredentials } from './init/credentials.ts';
import { findEventToCount } from './init/find-event-to-count.ts';
import { type HarRecording, readHarRecording } from './init/har/from-har.ts';
import { type InitAnswers, initOptionsSchema, LOGIN_EXAMPLE, starterFlow } from './init/options.ts';
import { InitInterview, withPrompts } from './init/questions.ts';
import { INSPECT_HELP, type StarterOptions, starterScenario } from './init/starter-scenario.ts';

const CONTROL_PORT = 3200;
const MAX_PUBLISHES = 3;
const NESTJS_JWT = `init --url http://app:3000 \\
    --login '{"post": {"url": "/auth/login",
      "json": {"username": "ann", "password": "{{ $env.PASSWORD }}"},
      "capture": {"json": "$.access_token", "as": "token"}}}' \\
    --auth '{"token": "{{ token }}"}' --publish '["message", {"id": "$id"}]'`;

interface Options extends InitAnswers {
  har?: string;
  out: string;
  force?: boolean;
  json?: boolean;
}

export function addInit(program: Command): void {
  const command = program
    .command('init')
    .description('Writes a first scenario for your own server. On a terminal, it asks for missing options.')
    .option('--url <url>', 'URL of the server, or of the proxy in front of it')
    .option('--har <file>', 'a browser’s recording of one user (“Save all as HAR”)')
    .option('--connections <n>', 'number of connections (default: 1000)')
    .option('--instrumented', 'the server calls instrument(io), so all figures can be measured')
    .option('--path <path>', 'Engine.IO path (default: /socket.io/)')
    .option('--namespace <name>', 'namespace (default: the path of the URL)')
    .option('--parser <module>', 'parser of the server, if not Socket.IO’s own: `msgpack`')
    .option('--auth <json>', '`auth` of the clients: `{"token": "…"}`')
    .option('--headers <json>', 'headers of the handshake: `{"Cookie": "…"}`')
    .option(
      '--login <json>',
      `step before connecting, whose \`capture\` the other options can use: \`${LOGIN_EXAMPLE}\``,
      joined,
    )
    .option('--emit <json>', 'what clients emit to log in or to join: `["<event>", <argument>, …]`', joined)
    .option(
      '--publish <json>',
      'what makes the server send; "$id" stands for an id of the run, "$room" for a user or room to send to',
    )
    .option('--listen <seconds>', 'how long to watch what the server sends; 0: do not connect (default: 6)')
    .option('--out <file>', 'the file to write', 'capacity.yml')
    .option('--force', 'overwrites an existing file')
    .action(init);
  addHelp(addJsonOption(command), {
    examples: {
      init: 'asks for everything, a login included',
      'init --url https://staging.example.com --instrumented': 'a server that calls instrument(io)',
      'init --url http://app:3000 --emit \'["join", "news"]\'': 'a server that sends by itself',
      'init --url http://app:3000 --publish \'["say", "$id"]\'': 'a server that sends when a client emits',
      'init --auth \'{"token": "{{ $env.TOKEN }}"}\'':
        'a server that requires a token: from the environment, or asked for',
      'init --har session.har': 'everything from a recording of one user in a browser',
      [NESTJS_JWT]: 'NestJS with a JWT that a login by HTTP answers',
    },
    exitCodes: {
      0: 'written',
      2: 'an option is wrong or missing, the server cannot be reached, or the file already exists',
    },
  });
}

/** Joins the values of a command-line option that is given several times. */
function joined(value: string, before?: string): string {
  return before === undefined ? value : `${before}, ${value}`;
}

async function init({ har, out, force, json, ...options }: Options): Promise<void> {
  const isInteractive = process.stdin.isTTY === true && process.stdout.isTTY === true && !json;
  const say = json ? console.error : console.log;
  const recording = har === undefined ? undefined : readHarRecording(har, options);
  for (const note of recording?.notes ?? []) say(note);
  const given: InitAnswers = recording ? { instrumented: false, ...recording.answers, ...options } : options;
  const publishes = given.publish === undefined ? (recording?.publishes ?? []) : [];
  const events = new Set(publishes.map((text) => JSON.parse(text)[0]));
  const isUnsure = events.size > 1 && !publishes.some((text) => hasCredentials(text, recording?.secrets));
  const interview =
    isInteractive && (isUnsure || !recording)
      ? new InitInterview(given, recording && { publish: publishes[0] as string })
      : undefined;
  const context = { say, isInteractive, recording };
  const { starter, variables } = interview
    ? await interview.until((answers, needsEvent) => examine(answers, { ...context, needsEvent }))
    : await examineAny(given, publishes, { ...context, needsEvent: !recording });
  if (variables.length > 0) {
    const all = `Each run reads ${variables.join(', ')} from the environment: the file has no credentials.`;
    starter.environment = [all, ...variables.flatMap(setVariableCommand)];
  }
  const text = starterScenario(starter, out);
  writeOutputFile(out, 'choose another file: --out <file>, or overwrite it: --force', () => {
    writeFileSync(out, text, { flag: force ? 'w' : 'wx' });
  });
  if (json) return printJson({ file: out, ...starter });
  const next = `${starter.controlUrl ? `${COMMAND_LINE_PREFIX} doctor` : 'npx artillery run'} ${shellQuotedPath(out)}`;
  console.log(`Wrote ${out}. Its comments explain what to do first; then run: ${next}`);
  if (starter.processes?.inspect) console.log(INSPECT_HELP.join(' '));
  if (starter.environment) console.log(starter.environment.join('\n'));
}

interface Examination {
  say(text: string | undefined): void;
  isInteractive: boolean;
  /** Whether `init` fails if it finds no event of the server that a run could count. */
  needsEvent: boolean;
  recording: HarRecording | undefined;
}

/**
 * Examines the server with each proposed event to publish, until the server delivers one of these events to the
 * clients.
 */
async function examineAny(given: InitAnswers, publishes: string[], context: Examination) {
  let first: Awaited<ReturnType<typeof examine>> | undefined;
  for (const publish of publishes.slice(0, MAX_PUBLISHES)) {
    const found = await examine({ ...given, publish }, context);
    if (found.starter.delivery) return found;
    first ??= found;
  }
  return first ?? examine(given, context);
}

/**
 * Examines the server for which `init` writes a scenario.
 * @returns values for the new scenario, and the environment variables that it needs
 */
async function examine(answers: InitAnswers, { say, isInteractive, needsEvent, recording }: Examination) {
  const { listen: seconds, ...starter } = starterOf(answers);
  const { publish } = starter;
  const { named, variables } = withNamedCredentials({ flow: starter.flow, publish }, recording?.secrets);
  if (recording) Object.assign(starter, recording.engine, { recorded: recording.notes });
  const { flow } = Object.assign(starter, named);
  if (!starter.controlUrl) starter.processes = await listeningProcesses(starter.url);
  if (!starter.controlUrl && seconds > 0) {
    await withPrompts(() => askForVariables(flow, variables, isInteractive));
    say(`Connecting to ${starter.url}, to see what it sends in ${seconds} s …`);
    Object.assign(starter, await lookByAnyOptions({ ...starter, publish }, seconds));
    if (!starter.delivery && needsEvent) requireAnEvent(starter);
    say(starter.finding);
  } else if (recording) {
    const seen = recording.publishes.indexOf(String(answers.publish));
    starter.delivery = publish ? recording.deliveries[seen] : recording.sentByItself;
  }
  return { starter: starter as StarterOptions, variables };
}

/**
 * Connects to the server and examines its events. If connecting fails, tries the options that the error suggests.
 * @returns the result of `findEventToCount`, with the options that differ from the defaults
 */
async function lookByAnyOptions(
  starter: StarterOptions,
  seconds: number,
): Promise<Awaited<ReturnType<typeof findEventToCount>>> {
  try {
    return await findEventToCount(starter, seconds);
  } catch (error) {
    if (!(error instanceof OtherOptionsNeededError)) throw error;
    const { options } = error;
    const { transports, addTrailingSlash } = options;
    const [given, needed] = transports
      ? ['WebSocket alone', `transports: [${transports.join(', ')}]`]
      : ['a slash at the end of the path', `addTrailingSlash: ${addTrailingSlash}`];
    // Other transports are tried only once, after all other options.
    const again = transports ? findEventToCount : lookByAnyOptions;
    const found = await again({ ...starter, ...options }, seconds).catch((next: unknown) => {
      // If the server does not accept WebSocket, its real error appears only when polling is tried.
      const isSame =
        transports?.includes('websocket') === false ||
        !(next instanceof CapacityError) ||
        next.message === error.message;
      if (isSame) throw next;
      const fix = [error.fix, next.fix].filter(Boolean).join(';\n  or ');
      throw new CapacityError(next.code, `${error.message}; then, with ${needed}: ${next.message}`, fix);
    });
    const why = `With ${given}: ${error.message}. It connects with ${needed}. `;
    return { ...options, ...found, finding: why + found.finding };
  }
}

function starterOf(answers: InitAnswers): StarterOptions & { listen: number } {
  const options = parseOptions(initOptionsSchema, answers, 'init');
  const { url, path, parser, instrumented, publish, connections, listen } = options;
  return {
    url: new URL(url).origin,
    ...(path !== undefined && { path }),
    ...(parser !== undefined && { parser }),
    connections,
    flow: starterFlow(options),
    controlUrl: instrumented ? `http://${new URL(url).hostname}:${CONTROL_PORT}` : undefined,
    publish,
    delivery: undefined,
    finding: undefined,
    processes: undefined,
    listen,
  };
}

/**
 * Checks that the scenario can measure more than connections.
 * @throws CapacityError EVENT_NOT_FOUND if there is no event to count and no message to send
 */
function requireAnEvent({ finding, flow, publish, withoutId = [] }: StarterOptions): void {
  if (publish || withoutId.length > 0 || flow.some((step) => 'emit' in step)) return;
  const fix = [
    'give what a client emits to get events: --emit \'["subscribe", "news"]\';',
    'what makes the server send to every connection: --publish \'["say", {"id": "$id"}]\';',
    'or a longer time: --listen 30. To measure connections only: --listen 0',
  ];
  throw new CapacityError('EVENT_NOT_FOUND', `there is no event to count. ${finding}`, fix.join('\n  '));
}
