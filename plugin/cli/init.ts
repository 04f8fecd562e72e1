/** `init`: writes a first scenario for the user's own server, from options or by asking, and from what the server sends. */
import { writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { z } from 'zod';
import { attempt } from '../../protocol/base/attempt.ts';
import { CapacityError } from '../../protocol/codes/errors.ts';
import { mergeHeaders, splitUserInfo } from '../../protocol/wire/basic-auth.ts';
import { NeedsOptions } from '../run/receivers/explain-failure.ts';
import { listeningProcesses } from '../run/target/target-listeners.ts';
import { namespaceSchema } from '../script/options/connect-options.ts';
import { emissionSchema } from '../script/options/delivery-options.ts';
import { readScenarios } from '../script/scenarios.ts';
import { ENGINE } from '../script/script.ts';
import { STEPS } from '../virtual-user/steps/index.ts';
import { addHelp, badOption, LINE, parseOptions, printJson, typed, withJson, writing } from './command.ts';
import { formOf, readVariables, withNamedCredentials } from './init/credentials.ts';
import { requireSupported } from './init/listen.ts';
import { lookAt } from './init/look.ts';
import { INSPECTION, ROOM, type Starter, starterScenario } from './init/starter-scenario.ts';
import { waitingFor } from './own-process.ts';

const CONTROL_PORT = 3200;

/** JSON: one value, or several with commas between them. */
const jsonList = (example: string) =>
  z.string().transform((text, context): unknown[] => {
    const list: unknown[] | undefined = attempt(() => JSON.parse(`[${text}]`));
    if (!list) context.addIssue({ code: 'custom', message: `expected JSON: ${example}` });
    return list ?? z.NEVER;
  });
const jsonObject = <T extends z.ZodType>(value: T, example: string) =>
  jsonList(example)
    .refine(({ length }) => length === 1, `expected JSON: ${example}`)
    .transform(([one]) => one)
    .pipe(z.record(z.string(), value, `expected JSON: ${example}`));
const EMISSION = '["<event>", <argument>, …]';
const emissions = jsonList(EMISSION).pipe(
  z.array(z.unknown().refine(Array.isArray, `expected JSON: ${EMISSION}`).pipe(emissionSchema)),
);
const LOGIN = '{"post": {"url": "/login", "json": {…}}}';
const step = z
  .record(z.string(), z.unknown())
  .refine(
    (one) => readScenarios({ config: {}, scenarios: [{ engine: ENGINE, flow: [one] }] }, STEPS).problems.length === 0,
    `expected a step: ${LOGIN}`,
  );

const optionsSchema = z.object({
  url: z.url({ protocol: /^(https?|wss?)$/, error: 'expected a URL such as https://staging.example.com' }),
  instrumented: z.boolean().default(false),
  path: z.string().trim().min(1).optional(),
  namespace: namespaceSchema.optional(),
  auth: jsonObject(z.unknown(), '{"token": "…"}').optional(),
  headers: jsonObject(z.string(), '{"Cookie": "…"}').optional(),
  login: jsonList(LOGIN).pipe(z.array(step)).optional(),
  emit: emissions.optional(),
  publish: emissions.transform(([one]) => one).optional(),
  listen: z.coerce.number('expected seconds').min(0).max(600).default(6),
  connections: z.coerce.number().int().min(8, 'expected 8 or more').max(1_000_000).default(1000),
});

type Answers = Partial<Record<keyof z.infer<typeof optionsSchema>, unknown>>;

interface Options extends Answers {
  out: string;
  force?: boolean;
  json?: boolean;
}

export function addInit(program: Command): void {
  const command = program
    .command('init')
    .description('Writes a first scenario for your own server. On a terminal, it asks for missing options.')
    .option('--url <url>', 'URL of the server, or of the proxy in front of it')
    .option('--connections <n>', 'number of connections (default: 1000)')
    .option('--instrumented', 'the server calls instrument(io), so all figures can be measured')
    .option('--path <path>', 'Engine.IO path (default: /socket.io/)')
    .option('--namespace <name>', 'namespace (default: the path of the URL)')
    .option('--auth <json>', '`auth` of the clients: `{"token": "…"}`')
    .option('--headers <json>', 'headers of the handshake: `{"Cookie": "…"}`')
    .option(
      '--login <json>',
      `step before connecting, whose \`capture\` the other options can use: \`${LOGIN}\``,
      joined,
    )
    .option(
      '--emit <json>',
      'what clients emit to log in, or to join if the server is not instrumented: `["<event>", <argument>, …]`',
      joined,
    )
    .option(
      '--publish <json>',
      'what makes the server send to everybody; "$id" stands for an id of the run, "$room" for one user or room to send to instead',
    )
    .option('--listen <seconds>', 'how long to watch what the server sends; 0: do not connect (default: 6)')
    .option('--out <file>', 'the file to write', 'capacity.yml')
    .option('--force', 'overwrites an existing file')
    .action(init);
  addHelp(withJson(command), {
    examples: {
      init: 'asks for everything',
      'init --url https://staging.example.com --instrumented': 'a server that calls instrument(io)',
      'init --url http://app:3000 --emit \'["join", "news"]\'': 'a server that sends by itself',
      'init --url http://app:3000 --publish \'["say", "$id"]\'': 'a server that sends when a client emits',
      'init --auth \'{"token": "{{ $env.TOKEN }}"}\'':
        'a server that requires a token: from the environment, or asked for',
    },
    exitCodes: {
      0: 'written',
      2: 'an option is wrong or missing, the server cannot be reached, or the file already exists',
    },
  });
}

/** Collects an option that is given more than once. */
function joined(value: string, before?: string): string {
  return before === undefined ? value : `${before}, ${value}`;
}

async function init({ out, force, json, ...given }: Options): Promise<void> {
  const isInteractive = process.stdin.isTTY === true && process.stdout.isTTY === true && !json;
  const { listen: seconds, ...starter } = starterOf(isInteractive ? await ask(given) : given);
  const { publish } = starter;
  const { named, variables } = withNamedCredentials({ flow: starter.flow, publish });
  const { flow } = Object.assign(starter, named);
  const say = json ? console.error : console.log;
  if (!starter.controlUrl) starter.processes = await listeningProcesses(starter.url);
  if (!starter.controlUrl && seconds > 0) {
    await answering(() => readVariables(flow, variables, isInteractive));
    say(`Connecting to ${starter.url}, to see what it sends in ${seconds} s …`);
    Object.assign(starter, await lookByAnyOptions({ ...starter, publish }, seconds));
    if (!starter.delivery && !isInteractive) requireAnEvent(starter);
    say(starter.finding);
  }
  if (variables.length > 0) {
    const all = `Each run reads ${variables.join(', ')} from the environment: the file has no credentials.`;
    starter.environment = [all, ...variables.flatMap(formOf)];
  }
  const text = starterScenario(starter, out);
  writing(out, 'choose another file: --out <file>, or overwrite it: --force', () => {
    writeFileSync(out, text, { flag: force ? 'w' : 'wx' });
  });
  if (json) return printJson({ file: out, ...starter });
  const next = `${starter.controlUrl ? `${LINE} doctor` : 'npx artillery run'} ${typed(out)}`;
  console.log(`Wrote ${out}. Its comments explain what to do first; then run: ${next}`);
  if (starter.processes?.inspect) console.log(INSPECTION.join(' '));
  if (starter.environment) console.log(starter.environment.join('\n'));
}

/** Tries the options that a failure suggests. @returns what `lookAt` does, and the options that are not the defaults */
async function lookByAnyOptions(starter: Starter, seconds: number): Promise<Awaited<ReturnType<typeof lookAt>>> {
  try {
    return await lookAt(starter, seconds);
  } catch (error) {
    if (!(error instanceof NeedsOptions)) throw error;
    const { options } = error;
    const { transports, addTrailingSlash } = options;
    const [given, needed] = transports
      ? ['WebSocket alone', `transports: [${transports.join(', ')}]`]
      : ['a slash at the end of the path', `addTrailingSlash: ${addTrailingSlash}`];
    // Transports are tried last, so that they are tried once.
    const again = transports ? lookAt : lookByAnyOptions;
    const found = await again({ ...starter, ...options }, seconds).catch((next: unknown) => {
      // For a server without WebSocket, only the second attempt shows what it requires.
      const isSame =
        transports?.includes('websocket') === false ||
        !(next instanceof CapacityError) ||
        next.message === error.message;
      if (isSame) throw next;
      throw new CapacityError(next.code, `${error.message}; then, with ${needed}: ${next.message}`, next.fix);
    });
    const why = `With ${given}: ${error.message}. It connects with ${needed}. `;
    return { ...options, ...found, finding: why + found.finding };
  }
}

function starterOf(answers: Answers): Starter & { listen: number } {
  const options = parseOptions(optionsSchema, answers, 'init');
  const { url, path, instrumented, publish, connections, listen } = options;
  return {
    url: new URL(url).origin,
    ...(path !== undefined && { path }),
    connections,
    flow: flowOf(options),
    controlUrl: instrumented ? `http://${new URL(url).hostname}:${CONTROL_PORT}` : undefined,
    publish,
    delivery: undefined,
    finding: undefined,
    processes: undefined,
    listen,
  };
}

/** Paths of HTTP steps follow the target, so that a path in the URL, which is a namespace, moves to where the client connects. */
function flowOf({
  url,
  instrumented,
  login = [],
  emit = [],
  ...given
}: z.infer<typeof optionsSchema>): Starter['flow'] {
  const { pathname, searchParams } = new URL(url);
  const { auth, namespace = pathname.replace(/\/$/, '') } = given;
  const authorization = splitUserInfo(url).headers;
  const headers = mergeHeaders(authorization, given.headers ?? {});
  const query = Object.fromEntries(searchParams);
  const options = { namespace: namespace || undefined, query, auth, headers };
  const connect = Object.fromEntries(
    Object.entries(options).filter(([, value]) => Object.keys(value ?? '').length > 0),
  );
  const emits = [...emit, ...(instrumented ? [{ event: 'join_room', args: [ROOM] }] : [])];
  // Only a step that needs a connection opens one, and `hold` does not. An emit opens its namespace on the connection of a
  // login by emit, as `socket.io-client` does; with a `connect`, each user would have two, or lose that of its login.
  const isConnected = login.some((step) => 'emit' in step);
  const named = Object.keys(connect).filter((key) => !(isConnected && emits.length > 0 && key === 'namespace'));
  const opens = emits.length === 0 && !isConnected && { connect: true };
  return [
    ...login.map((step) => withHeaders(step, authorization)),
    ...[named.length > 0 ? { connect } : opens].flatMap((step) => step || []),
    ...emits.map(({ event, args }) => ({ emit: [event, ...args], ...(namespace && { namespace }) })),
  ];
}

/** Adds the headers to an HTTP request of the step, unless the request goes to another host or sets them itself. */
function withHeaders(step: Record<string, unknown>, headers: Record<string, string>): Record<string, unknown> {
  const entries = Object.entries(step).map(([key, value]) => {
    const { url, headers: own } = (value ?? {}) as { url?: unknown; headers?: Record<string, string> };
    const isRequest = typeof url === 'string' && url.startsWith('/') && Object.keys(headers).length > 0;
    return [key, isRequest ? { ...(value as object), headers: mergeHeaders(headers, own ?? {}) } : value];
  });
  return Object.fromEntries(entries);
}

/** @throws CapacityError EVENT_NOT_FOUND where nothing but connections could be measured, and nobody asked for that */
function requireAnEvent({ finding, flow, publish, withoutId = [] }: Starter): void {
  if (publish || flow.some((step) => 'emit' in step)) return;
  const fix = [
    'give what a client emits to get events: --emit \'["subscribe", "news"]\';',
    'what makes the server send to everybody: --publish \'["say", {"id": "$id"}]\';',
    `${withoutId.length === 0 ? 'or a longer time: --listen 30. ' : ''}To measure connections only: --listen 0`,
  ];
  throw new CapacityError('EVENT_NOT_FOUND', `there is no event to count. ${finding}`, fix.join('\n  '));
}

interface Question {
  option: keyof Answers;
  text: string;
  /** Default value of an empty answer, if it is shown. */
  usual?: string;
  /** Whether it is asked, given the answers so far. */
  if?(answers: Answers): boolean;
}

const isOther = ({ instrumented }: Answers) => !instrumented;

/** Options exist for everything that a server requires; it says so when it refuses clients. */
const QUESTIONS: Question[] = [
  { option: 'url', text: 'URL of the server', usual: 'http://localhost:3000' },
  { option: 'connections', text: 'Connections', usual: '1000' },
  { option: 'instrumented', text: 'Does it call instrument(io)?' },
  {
    option: 'emit',
    text: 'What a client emits to log in and to get messages, as ["login", "ann"], ["subscribe", "news"] (empty: nothing)',
    if: isOther,
  },
  {
    option: 'publish',
    text: 'What makes it send to everybody, as ["say", {"id": "$id"}], or to one user, as ["say", {"id": "$id", "to": "$room"}] (empty: it sends by itself)',
    if: isOther,
  },
];

/**
 * An empty answer means the default, or none. A wrong one is asked for again.
 * @throws CapacityError CONFIG_INVALID if they are not all answered, because of Ctrl-C or Ctrl-D
 */
async function ask(given: Answers): Promise<Answers> {
  // Loaded on demand, because no other command asks anything.
  const [{ default: input }, { default: confirm }] = await Promise.all([
    import('@inquirer/input'),
    import('@inquirer/confirm'),
  ]);
  const answers: Answers = { ...given };
  const look = async ({ url, path, listen }: Answers) => {
    const isSeen = Number(listen) !== 0 && URL.canParse(String(url));
    if (isSeen) await requireSupported(String(url), path as string | undefined);
  };
  return answering(async () => {
    if (given.url !== undefined) await look(given);
    for (const { option, text: message, usual, if: applies } of QUESTIONS) {
      if (answers[option] !== undefined || applies?.(answers) === false) continue;
      if (option === 'instrumented') {
        answers[option] = await confirm({ message, default: false });
        continue;
      }
      const { [option]: schema } = optionsSchema.shape;
      const problemWith = (text: string) => schema.safeParse(text.trim()).error?.issues[0]?.message;
      const validate = (text: string) => (text.trim() === '' ? true : (problemWith(text) ?? true));
      const answer = await input({ message, validate, ...(usual !== undefined && { default: usual }) });
      answers[option] = answer.trim() || undefined;
      if (option === 'url') await look(answers);
    }
    return answers;
  });
}

/** @throws CapacityError CONFIG_INVALID where Ctrl-C or Ctrl-D ends the questions */
async function answering<T>(ask: () => Promise<T>): Promise<T> {
  const unanswered = badOption('the questions were not answered: answer all of them, or give options', 'init');
  try {
    return await waitingFor(unanswered, ask);
  } catch (error) {
    if ((error as Error).name !== 'ExitPromptError') throw error;
    console.log();
    throw unanswered;
  }
}
