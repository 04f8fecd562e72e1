/** `init`: writes a first scenario for the user's own server, from options or by asking, and from what the server sends. */
import { writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { z } from 'zod';
import { CapacityError } from '../../protocol/errors.ts';
import { emissionSchema } from '../script/options/delivery-options.ts';
import { addHelp, badOption, LINE, parseOptions, printJson, typed, withJson } from './command.ts';
import { lookAt } from './init/look.ts';
import { type Starter, starterScenario } from './init/starter-scenario.ts';

const CONTROL_PORT = 3200;

const name = z.string().trim().min(1);
const emission = z
  .string()
  .transform((text) => {
    try {
      return JSON.parse(text) as unknown;
    } catch {
      return undefined;
    }
  })
  .pipe(z.unknown().refine(Array.isArray, 'expected JSON: ["<event>", <argument>, …]').pipe(emissionSchema));

const optionsSchema = z.object({
  url: z.url({ protocol: /^(https?|wss?)$/, error: 'expected a URL such as https://staging.example.com' }),
  instrumented: z.boolean().default(false),
  control: z.array(z.url({ protocol: /^https?$/, error: 'expected URLs such as http://10.0.0.11:3200' })).optional(),
  room: name.default('capacity'),
  join: name.optional(),
  emit: emission.optional(),
  publish: emission.optional(),
  event: name.optional(),
  listen: z.coerce.number('expected seconds').min(0).max(600).default(3),
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
    .option(
      '--control <urls...>',
      'addresses of its control ports, one for each process (default: port 3200 of the host)',
    )
    .option('--room <name>', 'the room that all clients join (default: capacity)')
    .option('--join <event>', 'if the server is not instrumented: the event that a client emits to join the room')
    .option('--emit <json>', 'or all that a client emits to join: ["<event>", <argument>, …]')
    .option('--publish <json>', 'what makes such a server send to everybody; "$id" in it stands for an id of the run')
    .option('--event <event>', 'the event that such a server sends to everybody')
    .option('--listen <seconds>', 'how long to look at what such a server sends; 0 to not connect to it (default: 3)')
    .option('--out <file>', 'the file to write', 'capacity.yml')
    .option('--force', 'overwrites an existing file')
    .action(init);
  addHelp(withJson(command), {
    examples: {
      init: 'asks for everything',
      'init --url https://staging.example.com --instrumented': 'a server that calls instrument(io)',
      'init --url http://app:3000 --join subscribe': 'any other server, which sends by itself',
      'init --url http://app:3000 --publish \'["say", "$id"]\'': 'or upon an event of a client',
    },
    exitCodes: {
      0: 'written',
      2: 'an option is wrong or missing, the server cannot be reached, or the file already exists',
    },
  });
}

async function init({ out, force, json, ...given }: Options): Promise<void> {
  const isInteractive = process.stdin.isTTY && process.stdout.isTTY && !json;
  const { listen: seconds, ...starter } = starterOf(isInteractive ? await ask(given) : given);
  const say = json ? console.error : console.log;
  if (!starter.controlUrls && seconds > 0) {
    say(`Connecting to ${starter.url}, to see what it sends in ${seconds} s …`);
    Object.assign(starter, await lookAt(starter, seconds));
    if (!starter.delivery && !isInteractive) requireAnEvent(starter, given);
    say(starter.finding);
  }
  try {
    writeFileSync(out, starterScenario(starter, out), { flag: force ? 'w' : 'wx' });
  } catch (cause) {
    const fix = 'choose another file: --out <file>, or overwrite it: --force';
    throw new CapacityError('FILE_UNWRITABLE', `${out} cannot be written`, fix, { cause });
  }
  if (json) return printJson({ file: out, ...starter });
  const next = `${starter.controlUrls ? `${LINE} doctor` : 'npx artillery run'} ${typed(out)}`;
  console.log(`Wrote ${out}. Its comments explain what to do first; then run: ${next}`);
}

/** @throws CapacityError CONFIG_INVALID */
function starterOf(answers: Answers): Starter & { listen: number } {
  const both = answers.join !== undefined && answers.emit !== undefined;
  const wrong = both ? [{ path: '--emit', message: 'give it or --join, not both' }] : [];
  const options = parseOptions(optionsSchema, answers, 'init', wrong);
  const { url, instrumented, control, room, join, emit, publish, event, connections, listen } = options;
  const controlUrls = control ?? (instrumented ? [`http://${new URL(url).hostname}:${CONTROL_PORT}`] : undefined);
  const own = join === undefined ? emit : { event: join, args: [room] };
  return {
    url: new URL(url).href,
    connections,
    join: controlUrls ? { event: 'join_room', args: [room] } : own,
    controlUrls,
    event,
    publish,
    delivery: undefined,
    finding: undefined,
    listen,
  };
}

/** @throws CapacityError EVENT_NOT_FOUND where nothing but connections could be measured, and nobody asked for that */
function requireAnEvent({ finding }: Starter, { join, emit, publish, event }: Answers): void {
  if ([join, emit, publish, event].some((one) => one !== undefined)) return;
  const fix = [
    'give what a client emits to get events: --emit \'["subscribe", "news"]\';',
    'what makes the server send to everybody: --publish \'["say", {"id": "$id"}]\';',
    'or a longer time: --listen 30. To measure connections only: --listen 0',
  ];
  throw new CapacityError('EVENT_NOT_FOUND', `there is no event to count. ${finding}`, fix.join('\n  '));
}

interface Question {
  option: keyof Answers;
  text: string;
  /** What an empty answer stands for, if it is shown. */
  usual?: string;
  /** Whether it is asked, given the answers so far. */
  if?(answers: Answers): boolean;
}

const isInstrumented = ({ instrumented, control }: Answers) => Boolean(instrumented || control);

const QUESTIONS: Question[] = [
  { option: 'url', text: 'URL of the server', usual: 'http://localhost:3000' },
  { option: 'connections', text: 'Connections', usual: '1000' },
  { option: 'instrumented', text: 'Does it call instrument(io)?', if: ({ control }) => !control },
  { option: 'room', text: 'Room for the run', usual: 'capacity', if: isInstrumented },
  {
    option: 'emit',
    text: 'What a client emits to get messages, as ["subscribe", "news"] (empty: nothing)',
    if: (answers) => !isInstrumented(answers) && answers.join === undefined,
  },
  {
    option: 'publish',
    text: 'What makes it send to everybody, as ["say", {"id": "$id"}] (empty: it sends by itself)',
    if: (answers) => !isInstrumented(answers),
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
  const answers = { ...given };
  try {
    for (const { option, text: message, usual, if: applies } of QUESTIONS) {
      if (answers[option] !== undefined || applies?.(answers) === false) continue;
      if (option === 'instrumented') {
        answers.instrumented = await confirm({ message, default: false });
        continue;
      }
      const { [option]: schema } = optionsSchema.shape;
      const problemWith = (text: string) => schema.safeParse(text.trim()).error?.issues[0]?.message;
      const validate = (text: string) => (text.trim() === '' ? true : (problemWith(text) ?? true));
      const answer = await input({ message, validate, ...(usual !== undefined && { default: usual }) });
      answers[option] = answer.trim() || undefined;
    }
    return answers;
  } catch (error) {
    if ((error as Error).name !== 'ExitPromptError') throw error;
    console.log();
    throw badOption('the questions were not answered: answer all of them, or give options', 'init');
  }
}
