/** `init`: writes a first scenario for the user's own server, from options or by asking. */
import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import { z } from 'zod';
import { CapacityError } from '../../protocol/errors.ts';
import { formatProblems, problemsOf } from '../../protocol/problems.ts';
import { addHelp, printJson, withJson } from './command.ts';
import { type Starter, starterScenario } from './starter-scenario.ts';

const DEFAULT_CONTROL_PORT = 3200;

const name = z.string().trim().min(1);
const optionsSchema = z.object({
  url: z.url({ protocol: /^(https?|wss?)$/, error: 'expected a URL such as https://staging.example.com' }),
  instrumented: z.boolean().default(false),
  control: z.array(z.url({ protocol: /^https?$/, error: 'expected URLs such as http://10.0.0.11:3200' })).optional(),
  room: name.default('capacity'),
  join: name.optional(),
  event: name.optional(),
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
    .option('--event <event>', 'if the server is not instrumented: the event that it sends to everybody in the room')
    .option('--out <file>', 'the file to write', 'capacity.yml')
    .option('--force', 'overwrites an existing file')
    .action(init);
  addHelp(withJson(command), {
    examples: {
      init: 'asks for everything',
      'init --url https://staging.example.com --instrumented --connections 5000': 'a server that calls instrument(io)',
      'init --url http://localhost:3000 --join subscribe --room news --event headline': 'any other server',
    },
    exitCodes: { 0: 'written', 2: 'an option is wrong, or the file already exists' },
  });
}

async function init({ out, force, json, ...given }: Options): Promise<void> {
  const answers = process.stdin.isTTY && process.stdout.isTTY && !json ? await ask(given) : given;
  const starter = starterOf(answers);
  try {
    writeFileSync(out, starterScenario(starter), { flag: force ? 'w' : 'wx' });
  } catch (cause) {
    const fix = 'choose another file: --out <file>, or overwrite it: --force';
    throw new CapacityError('SCENARIO_UNWRITABLE', `${out} cannot be written`, fix, { cause });
  }
  if (json) return printJson({ file: out, ...starter });
  const next = starter.controlUrls ? `npx socketio-capacity doctor ${out}` : `npx artillery run ${out}`;
  console.log(`Wrote ${out}. Its comments explain what to do first; then run: ${next}`);
}

/** @throws CapacityError BAD_OPTION */
function starterOf(answers: Answers): Starter {
  const parsed = optionsSchema.safeParse(answers);
  if (!parsed.success) {
    const problems = formatProblems(problemsOf(parsed.error, [], Object.keys(optionsSchema.shape)));
    throw new CapacityError('BAD_OPTION', `some options are invalid\n${problems}`, 'npx socketio-capacity init --help');
  }
  const { url, instrumented, control, room, join, event, connections } = parsed.data;
  const withControl = instrumented || control !== undefined;
  return {
    url: new URL(url).href,
    connections,
    join: withControl ? { event: 'join_room', room } : join === undefined ? undefined : { event: join, room },
    controlUrls: withControl ? (control ?? [defaultControl(url)]) : undefined,
    event,
  };
}

function defaultControl(url: string): string {
  return `http://${new URL(url).hostname}:${DEFAULT_CONTROL_PORT}`;
}

/** An empty answer means the default, or none. */
async function ask(given: Answers): Promise<Answers> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answers = { ...given };
  const question = async (key: keyof Answers, text: string) => {
    if (answers[key] === undefined) answers[key] = (await terminal.question(`${text}: `)).trim() || undefined;
  };
  try {
    await question('url', 'URL of the server (http://localhost:3000)');
    answers.url ??= 'http://localhost:3000';
    await question('connections', 'Connections (1000)');
    if (answers.instrumented === undefined && answers.control === undefined) {
      answers.instrumented = /^y/i.test(await terminal.question('Does it call instrument(io)? (y/N): '));
    }
    if (answers.instrumented || answers.control) {
      await question('room', 'Room for the run (capacity)');
    } else {
      await question('join', 'Event that a client emits to join a room (none)');
      if (answers.join !== undefined) await question('room', 'Room, which is the argument of that event (capacity)');
      await question('event', 'Event that the server sends to everybody in the room (none)');
    }
    return answers;
  } finally {
    terminal.close();
  }
}
