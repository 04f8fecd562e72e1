/** What is measured: our own stack that is already up, one that this run starts, or the user's own server. */
import { connect } from 'node:net';
import { CapacityError } from '../../protocol/errors.ts';
import type { WorkerStats } from '../../protocol/events.ts';
import { thisHost } from '../../protocol/host.ts';
import { isLoopback } from '../../protocol/loopback.ts';
import { defaultStateDir, findStack, type Stack, startStack } from '../../server/stack/stack.ts';
import type { LayerPids } from '../samplers/index.ts';
import type { Settings } from '../script/settings.ts';

export interface Target {
  url: string;
  profile: 'full' | 'embedded' | 'remote';
  control: { urls: string[]; token: string };
  redisUrl: string | undefined;
  /** Processes of the deployment on this machine. */
  pids(workers: WorkerStats[]): Promise<LayerPids>;
  /** Takes down what the run started, and nothing else. Idempotent. */
  close(): Promise<void>;
}

const LISTEN_TIMEOUT_MS = 2000;
const HANDSHAKE_TIMEOUT_MS = 3000;

/**
 * @param connections that the scenario asks for: decides how large a stack is started
 * @param log gets a line for the user about whatever takes a while
 * @param signal ends the start of a stack; what was started until then is gone when this rejects
 * @throws CapacityError of the stack; PORT_TAKEN, CONTROL_MISSING or STACK_IN_USE
 */
export async function openTarget(
  config: Settings,
  connections: number,
  log: (text: string) => void,
  signal: AbortSignal,
): Promise<Target> {
  const url = new URL(config.target);
  if (config.control) {
    logTokenInClear(config.control.urls, log);
    return ownServer(config.target, config.control, config.redisUrl);
  }
  // Our own stack is on this machine and speaks plain HTTP.
  if (!isLoopback(url.hostname) || !/^(http|ws):$/.test(url.protocol)) throw controlMissing(config.target);
  const stateDir = defaultStateDir();
  const found = await findStack(stateDir);
  const port = Number(url.port) || 80;
  if (found.status === 'up' && Number(new URL(found.stack.state.target).port) === port) {
    if (found.stack.state.ownerPid !== undefined) throw inUse(found.stack.state.ownerPid);
    log(`Using the stack that is up at ${url.origin}; it stays up.`);
    return ofStack(found.stack, async () => {});
  }
  if (await listens(url.hostname, port)) throw await taken(url, port);
  if (found.status === 'stale') {
    log(`Cleaning up a stack left by a killed run (${found.reason}).`);
    await found.clean();
  }
  const { profile, workers, redisUrl } = config;
  log(describeStart(config));
  const stack = await startStack({ profile, port, connections, workers, redisUrl, stateDir }, signal);
  return ofStack(stack, () => stack.close());
}

function describeStart({ profile, redisUrl }: Settings): string {
  if (profile === 'embedded') return 'Starting one Socket.IO worker with the in-memory adapter (profile: embedded).';
  return `Starting ${redisUrl ? 'PM2 workers and nginx' : 'Redis, PM2 workers and nginx'}.`;
}

function ofStack(stack: Stack, close: () => Promise<void>): Target {
  const { target, profile, workers, token, redisUrl } = stack.state;
  return {
    url: target,
    profile,
    control: { urls: workers.map(({ controlUrl }) => controlUrl), token },
    redisUrl,
    pids: async () => {
      const now = await stack.refresh();
      return {
        worker: now.workers.map(({ pid }) => pid).filter((pid) => pid > 0),
        pm2: present(now.pm2Pid),
        nginx: [...present(now.nginxPid), ...now.nginxWorkerPids],
        redis: present(now.redisPid),
      };
    },
    close,
  };
}

function ownServer(url: string, control: Target['control'], redisUrl: string | undefined): Target {
  const here = thisHost();
  const isHere = ({ host }: WorkerStats) => host.kernel === here.kernel && host.pidNamespace === here.pidNamespace;
  return {
    url,
    profile: 'remote',
    control,
    redisUrl,
    // A sum over only some of them would be too low.
    pids: async (workers) => ({ worker: workers.every(isHere) ? workers.map(({ pid }) => pid) : [] }),
    close: async () => {},
  };
}

/** Not a reason of the verdict: no figure depends on it. */
function logTokenInClear(urls: string[], log: (text: string) => void): void {
  const inClear = urls
    .map((url) => new URL(url))
    .filter((url) => url.protocol !== 'https:' && !isLoopback(url.hostname));
  if (inClear.length === 0) return;
  const hosts = inClear.map(({ host }) => host).join(', ');
  log(
    `Warning: the control token crosses the network unencrypted, to ${hosts}. Who reads it can publish to the server's clients. ` +
      'Give `instrument(io)` the option `tls`, and the run https:// control URLs; or use a tunnel.',
  );
}

/** Whether something accepts connections there already: then it is the user's, and the stack would be in its way. */
function listens(hostname: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const host = hostname.replace(/^\[|\]$/g, '');
    const socket = connect({ host, port, timeout: LISTEN_TIMEOUT_MS });
    const done = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => done(true));
    // A server that is too busy to accept still holds the port.
    socket.once('timeout', () => done(true));
    socket.once('error', () => done(false));
  });
}

async function taken(url: URL, port: number): Promise<CapacityError> {
  const answer = await handshake(url);
  if (answer === undefined) return controlMissing(url.origin);
  return new CapacityError(
    'PORT_TAKEN',
    `port ${port} is taken by a program that is not a Socket.IO server: ${answer}`,
    `stop it (ss -ltnp 'sport = :${port}' names it), or measure on another port: TARGET=http://127.0.0.1:8081`,
  );
}

/** @returns undefined from a Socket.IO server, else what it does instead of an Engine.IO handshake */
async function handshake(url: URL): Promise<string | undefined> {
  const address = `${url.origin.replace(/^ws/, 'http')}/socket.io/?EIO=4&transport=polling`;
  try {
    const response = await fetch(address, { signal: AbortSignal.timeout(HANDSHAKE_TIMEOUT_MS) });
    const body = await response.text();
    // A handshake, or the refusal of one: `{"code":…,"message":…}`.
    return /^0\{"sid"|^\{"code":\d/.test(body) ? undefined : `it answers HTTP ${response.status}`;
  } catch (error) {
    if ((error as Error).name === 'TimeoutError') return `it did not answer within ${HANDSHAKE_TIMEOUT_MS / 1000} s`;
    return 'it does not speak HTTP';
  }
}

function present(pid: number | undefined): number[] {
  return pid === undefined ? [] : [pid];
}

/** For a target without control URLs of its workers. */
function controlMissing(url: string): CapacityError {
  return new CapacityError(
    'CONTROL_MISSING',
    `no control port is known for the workers behind ${url}`,
    'call instrument(io) in the server and name its control ports: config.plugins.socketio-capacity.control: {urls, token}',
  );
}

function inUse(ownerPid: number): CapacityError {
  return new CapacityError(
    'STACK_IN_USE',
    `another run (process ${ownerPid}) is already measuring on this stack, and two runs would distort each other's figures`,
    'wait until it ends, or keep a stack up for several runs: npx socketio-capacity stack up',
  );
}
