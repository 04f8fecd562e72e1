/**
 * `stack up | status | down`: starts, shows and stops the deployment under test, without a run. `npm run stack:up` runs
 * it, too.
 */
import { type Command, Option } from 'commander';
import { z } from 'zod';
import { CapacityError } from '../../protocol/codes/errors.ts';
import { STACK_DOWN_EXIT_CODE } from '../../protocol/codes/exit-codes.ts';
import { tableLines } from '../../report/text/table.ts';
import { describeMissingTools, requiredProfile } from '../../server/stack/profile.ts';
import { defaultStateDir, findStack, type StackState, startStack } from '../../server/stack/stack.ts';
import { runEnvironmentSchema } from '../script/options/plugin-options.ts';
import { addHelp, addJsonOption, parseOptions, printJson } from './command.ts';

const optionsSchema = z
  .object({
    connections: z.coerce.number().int().min(1),
    workers: z.coerce.number().int().min(1).max(256).optional(),
    port: z.coerce.number().int().min(0).max(65_535),
    profile: z.enum(['full', 'embedded']).optional(),
    tls: z.boolean().default(false),
    redisNodes: runEnvironmentSchema.shape.REDIS_NODES,
    redisUrl: z.string().optional(),
  })
  .refine(({ profile, tls }) => !(tls && profile === 'embedded'), {
    path: ['tls'],
    error: 'needs nginx, which the embedded profile does not have',
  })
  .refine(({ profile, redisNodes = 1, redisUrl }) => redisNodes === 1 || (profile !== 'embedded' && !redisUrl), {
    path: ['redisNodes'],
    error: 'only for the Redis that the full profile starts without REDIS_URL',
  });

interface Output {
  json?: boolean;
}

export function addStack(program: Command): void {
  const stack = program
    .command('stack')
    .description('Starts and stops Redis, Socket.IO workers under PM2, and nginx, without a run.');

  const startup = stack
    .command('up')
    .description('Starts the stack and leaves it up for several runs.')
    .option('--connections <n>', 'connections to plan for; determines workers and nginx’s limits', '10000')
    .option('--workers <n>', 'Socket.IO workers (default: chosen by cores and open-file limit)')
    .option('--port <n>', 'port of the target; 0 for a free one', '8080')
    .option(
      '--profile <name>',
      'full, or embedded: one worker, no nginx, no Redis (default: full, or embedded if those are not installed)',
    )
    .option('--tls', 'clients speak TLS with nginx')
    .addOption(
      new Option('--redis-nodes <n>', 'nodes of the Redis that it starts: 1, or those of a Redis Cluster').env(
        'REDIS_NODES',
      ),
    )
    .action(up);
  addHelp(addJsonOption(startup), {
    examples: { 'stack up --connections 32000': 'before several runs of that size' },
    exitCodes: { 0: 'it is up', 2: 'it could not be started; the message gives the reason' },
  });

  const look = stack
    .command('status')
    .description('Shows the processes of the stack and their addresses.')
    .action(status);
  addHelp(addJsonOption(look), {
    examples: { 'stack status --json': 'pids and addresses for a script' },
    exitCodes: { 0: 'it is up', [STACK_DOWN_EXIT_CODE]: 'no stack is up' },
  });

  const end = stack.command('down').description('Stops the stack, or whatever is left of it.').action(down);
  addHelp(addJsonOption(end), {
    examples: { 'stack down': 'when the runs are over' },
    exitCodes: { 0: 'none of its processes is running', 2: 'some still are; the message lists them' },
  });
}

async function up({ json, ...given }: Output & Record<string, unknown>): Promise<void> {
  const options = parseOptions(optionsSchema, { ...given, redisUrl: process.env.REDIS_URL || undefined }, 'stack up');
  const stateDir = defaultStateDir();
  const profile =
    options.profile ?? requiredProfile({ ...options, adapter: process.env.CAPACITY_ADAPTER || undefined });
  const { state } = await startStack({ ...options, profile, stateDir, persistent: true });
  if (json) return printJson(publicState(state));
  console.log(describe(state));
  console.log('\nTo stop it: npx socketio-capacity stack down');
}

async function down({ json }: Output): Promise<void> {
  const found = await findStack(defaultStateDir());
  if (found.status === 'busy') {
    throw new CapacityError('IN_USE', `The stack is ${found.phase}.`, 'Try again in a few seconds.');
  }
  if (found.status === 'up') await found.stack.close();
  if (found.status === 'stale') await found.clean();
  if (json) return printJson({ was: found.status });
  const messages = { down: 'No stack is up.', up: 'The stack is down.', stale: 'Cleaned up a stale stack' };
  console.log(found.status === 'stale' ? `${messages.stale}: ${found.reason}.` : messages[found.status]);
}

async function status({ json }: Output): Promise<void> {
  const found = await findStack(defaultStateDir());
  const state = found.status === 'up' ? await found.stack.refresh() : undefined;
  if (!state) process.exitCode = STACK_DOWN_EXIT_CODE;
  if (json) return printJson({ status: found.status, ...(state && publicState(state)) });
  if (state) console.log(describe(state));
  if (found.status === 'down') console.log('No stack is up. Start one: npx socketio-capacity stack up');
  if (found.status === 'busy') console.log(`The stack is ${found.phase}.`);
  if (found.status === 'stale') {
    console.log(`The stack is stale: ${found.reason}. Clean it up: npx socketio-capacity stack down`);
  }
}

function describe(state: StackState): string {
  const { profile, missing, target, workers, redisNodes, logDir, startedAt, ownerPid } = state;
  const { redisUrl } = publicState(state);
  const processes = [
    ...(state.nginxPid ? [['nginx', state.nginxPid, target, '']] : []),
    ...workers.map(({ id, pid, port, restarts }) => [`worker ${id}`, pid, `http://127.0.0.1:${port}`, restarts]),
    ['PM2', state.pm2Pid ?? '', state.pm2Home, ''],
    ...redisNodes.map(({ port, pid }) => ['Redis', pid, `redis://127.0.0.1:${port}`, '']),
    ...(redisUrl && redisNodes.length === 0 ? [['Redis', 'external', redisUrl, '']] : []),
  ].map((row) => row.map(String));
  return [
    `profile   ${profile}${profile === 'embedded' ? ' (one worker, in-memory adapter, no nginx, no Redis)' : ''}`,
    ...(missing ? [`          because ${describeMissingTools(missing)}`] : []),
    `target    ${target}`,
    `control   ${workers.map(({ controlUrl }) => controlUrl).join(' ')}`,
    `logs      ${logDir}`,
    `up since  ${startedAt}${ownerPid ? `, for process ${ownerPid}` : ''}`,
    '',
    ...tableLines(['part', 'pid', 'address', 'restarts'], processes, '', ['left', 'right', 'left', 'right']),
  ].join('\n');
}

/**
 * Returns the state of the stack (the deployment under test). Leaves out the control token and the password of Redis.
 */
function publicState({ token: _token, redisUrl, ...state }: StackState) {
  if (!redisUrl) return { ...state, redisUrl: undefined };
  const { protocol, host } = new URL(redisUrl);
  return { ...state, redisUrl: `${protocol}//${host}` };
}
