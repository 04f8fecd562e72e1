/**
 * Opens the deployment to measure: a stack that is already running, a stack that the run starts, or the user's own
 * server.
 */

import { isLoopback } from '../../../protocol/base/machine/loopback.ts';
import { isThisHost, thisHost } from '../../../protocol/base/machine/this-host.ts';
import { onlyOnce } from '../../../protocol/base/only-once.ts';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import { titleOfLayer } from '../../../protocol/documents/named-layers.ts';
import type { MeasuredProcesses } from '../../../protocol/result/server-schema.ts';
import type { WorkerStats } from '../../../protocol/wire/events.ts';
import { isTlsUrl } from '../../../protocol/wire/http-agent.ts';
import { describeMissingTools } from '../../../server/stack/profile.ts';
import {
  defaultStateDir,
  findLivingStack,
  type Stack,
  type StackState,
  startStack,
} from '../../../server/stack/stack.ts';
import {
  addWorkerChildren,
  cachedProcessTable,
  connectionsTo,
  type FullestProcess,
  findFullestProcess,
  findPortListeners,
  Inspectors,
  type LayerPids,
  type PortListeners,
  processTreesOf,
  ServerProcesses,
} from '../../samplers/index.ts';
import { hasProcessSources, sourcesByLayer } from '../../script/options/worker-sources.ts';
import { ENGINE_NAME } from '../../script/script.ts';
import type { Settings } from '../../script/settings.ts';
import { SERVER_PROCESSES } from '../measurements/observations.ts';
import { type DeploymentPart, deploymentPartsOf } from '../measurements/worker-identity.ts';
import { describeProcesses } from './measured-processes.ts';
import { isThisMachine, portOfUrl, targetListeners } from './target-listeners.ts';
import { type PlannedDeployment, whichDeployment } from './which-deployment.ts';

export interface RunTarget {
  url: string;
  profile: 'full' | 'embedded' | 'remote';
  /** Programs that are not installed, so that the profile is `embedded`. */
  missing: readonly string[];
  /** Addresses of the workers' control ports; undefined if there are none. */
  control: Settings['control'];
  redisUrl: string | undefined;
  /** Returns the deployment's processes on this machine, by layer. */
  pids(workers: WorkerStats[]): Promise<LayerPids>;
  /** Returns the deployment's processes on this machine that no layer includes; undefined if some may be unknown. */
  unlayered(workers: WorkerStats[]): Promise<number[] | undefined>;
  /**
   * Returns the processes of this machine that hold connections: the workers, or the listening processes if the workers
   * are unknown.
   */
  holders(workers: WorkerStats[], pids: LayerPids): Promise<number[]>;
  /** Describes the deployment's processes on this machine. @param previous result of an earlier call */
  processes?(pids: LayerPids, previous: MeasuredProcesses | null): Promise<MeasuredProcesses>;
  /** Returns the parts of the deployment whose processes are known, see `Stack.identities`. */
  parts(): Record<string, DeploymentPart>;
  /**
   * Returns the number of open files and sockets of the server's processes; undefined with control ports, or if
   * unknown.
   */
  openFiles?(): Promise<number | undefined>;
  /** Returns the process that is closest to its limit of open files; undefined with control ports, or if unknown. */
  fullest?(): Promise<FullestProcess | undefined>;
  /**
   * Returns the number of connections to the target's port on this machine, excluding connections of this process;
   * undefined with control ports, or if unknown.
   */
  connections?(): Promise<number | undefined>;
  /**
   * The included stack; undefined for the user's own server. A run changes a user's server only through the user's own
   * command.
   */
  stack: Pick<Stack, 'fault' | 'restarts' | 'state'> | undefined;
  /** Whether the workers' processes are known to run on this machine. If not, the workers report their host. */
  isHere: boolean;
  /** Stops everything that the run has started for the target. Idempotent. */
  close(): Promise<void>;
}

const ELSEWHERE: PortListeners = { unseen: 'the target is on another machine' };

/**
 * Opens the target.
 * @param connections number of TCP connections of the scenario, which determines the size of a new stack
 * @param log called before steps that take a while
 * @param signal aborts the start of a stack; the stack is stopped before the promise rejects
 * @throws CapacityError of the stack; CONTROL_MISSING, PROCESS_NOT_FOUND or IN_USE
 */
export async function openRunTarget(
  config: Settings,
  connections: number,
  log: (text: string) => void,
  signal: AbortSignal,
): Promise<RunTarget> {
  const stateDir = defaultStateDir();
  // Stops a stack that a killed run left behind, because that stack would use memory and ports.
  const found = await findLivingStack(stateDir, (reason) =>
    log(`Cleaning up a stack left by a killed run (${reason}).`),
  );
  const which = await whichDeployment(config, found);
  if (which.kind === 'up') {
    const { state } = which.stack;
    requireFree(config, state);
    log(`Using the stack that is up at ${state.target}; it stays up.`);
    return ofStack(which.stack, async () => {});
  }
  if (which.kind === 'own') {
    if (!config.control) return fromOutside(config, log);
    logTokenInClear(config.control.urls, log);
    return openOwnServer(config);
  }
  const { port, profile, missing } = which;
  const { tls, workers, redisUrl, redisNodes } = config;
  const { compression } = config.connection;
  log(describeStart(config, which));
  const options = { port, tls, compression, connections, workers, redisUrl, redisNodes, stateDir };
  const stack = await startStack({ ...options, profile: missing.length > 0 ? undefined : profile }, signal);
  return ofStack(stack, () => stack.close());
}

function describeStart({ redisUrl, redisNodes = 1, tls }: Settings, { profile, missing }: PlannedDeployment): string {
  const embedded = 'one Socket.IO worker with the in-memory adapter, without a proxy (profile: embedded)';
  if (missing.length > 0) return `Starting ${embedded}, because ${describeMissingTools(missing)}.`;
  if (profile === 'embedded') return `Starting ${embedded}.`;
  const redis = redisNodes > 1 ? `a Redis Cluster of ${redisNodes} nodes, ` : 'Redis, ';
  return `Starting ${redisUrl ? '' : redis}PM2 workers and nginx${tls ? ', which speaks TLS' : ''}.`;
}

function ofStack(stack: Stack, close: () => Promise<void>): RunTarget {
  const { target, profile, missing = [], workers, token, redisUrl } = stack.state;
  const listening = onlyOnce(() => findPortListeners(portOfUrl(target)));
  const pids = async (): Promise<LayerPids> => {
    const now = await stack.refresh();
    return {
      worker: now.workers.map(({ pid }) => pid).filter((pid) => pid > 0),
      pm2: [now.pm2Pid ?? []].flat(),
      nginx: [now.nginxPid ?? [], now.nginxWorkerPids].flat(),
      redis: now.redisNodes.map(({ pid }) => pid),
    };
  };
  return {
    url: target,
    profile,
    missing,
    control: { urls: workers.map(({ controlUrl }) => controlUrl), token, tls: {} },
    redisUrl,
    pids,
    holders: async (_, now) => now.worker ?? [],
    unlayered: async () => [],
    processes: async (pids, previous) =>
      describeProcesses(pids, { port: portOfUrl(target), listening: await listening() }, [], previous),
    parts: () => {
      const { PM2, ...proxy } = stack.identities();
      return { ...(PM2 !== undefined && deploymentPartsOf('pm2', { PM2 })), ...deploymentPartsOf('nginx', proxy) };
    },
    stack,
    isHere: true,
    close,
  };
}

/**
 * Opens a server without control ports. Its figures come from this machine's kernel and from metrics pages.
 * @throws CapacityError CONTROL_MISSING with an external engine, because nothing would count its connections
 */
function fromOutside(config: Settings, log: (text: string) => void): Promise<RunTarget> {
  if (config.engine !== ENGINE_NAME) {
    throw new CapacityError(
      'CONTROL_MISSING',
      `no control port is known for the workers behind ${config.target}, and engine ${config.engine} does not count its connections for a run`,
      'call instrument(io) in the server and name its control ports: config.plugins.socketio-capacity.control: {urls, token}; or use engine socketio-capacity',
    );
  }
  const without = [
    ...(config.delivery ? [] : ['no broadcasts']),
    ...(config.workerSources?.inspect ? [] : ['no forced garbage collection']),
  ];
  const what = without.length > 0 ? `: ${without.join(', ')}` : '';
  log(`No control port is known, so the run measures from outside${what}.`);
  return openOwnServer(config);
}

/**
 * Opens a server on this machine.
 * @throws CapacityError PROCESS_NOT_FOUND
 */
export async function openOwnServer(config: Settings): Promise<RunTarget> {
  const { target: url, control, redisUrl } = config;
  const port = isThisMachine(url) ? portOfUrl(url) : undefined;
  const listening = port === undefined ? ELSEWHERE : await findPortListeners(port);
  const { worker: processes, ...otherLayers } = processesOf(config, port, listening);
  const listeners = targetListeners(url);
  const isHere = ({ host }: WorkerStats) => isThisHost(host);
  const pidsHere = (workers: WorkerStats[]) => workers.filter(isHere).map(({ pid }) => pid);
  return {
    url,
    profile: 'remote',
    missing: [],
    control,
    redisUrl,
    // Returns no processes if some workers run on other hosts, because a sum over the local workers would be too low.
    pids: async (workers) => ({
      worker: (await processes?.pids()) ?? (workers.every(isHere) ? workers.map(({ pid }) => pid) : []),
      ...Object.fromEntries(
        await Promise.all(Object.entries(otherLayers).map(async ([layer, found]) => [layer, await found.pids()])),
      ),
    }),
    holders: async (workers, pids) => {
      if (workers.length > 0 && !processes) return pidsHere(workers);
      return processes ? (pids.worker ?? []) : processTreesOf((await listeners()) ?? [], await cachedProcessTable());
    },
    unlayered: async (workers) => {
      const hidesWorkers =
        !processes && workers.some((worker) => worker.host.kernel === thisHost().kernel && !isHere(worker));
      return hidesWorkers ? undefined : listeners();
    },
    processes: (pids, previous) => {
      const outsiders = [processes, ...Object.values(otherLayers)].flatMap((found) => found?.outsiders() ?? []);
      return describeProcesses(pids, { port, listening }, outsiders, previous);
    },
    parts: () => ({
      ...(processes && deploymentPartsOf('worker', { [SERVER_PROCESSES]: processes.identity() })),
      ...Object.assign(
        {},
        ...Object.entries(otherLayers).map(([layer, found]) =>
          deploymentPartsOf(layer, { [titleOfLayer(layer)]: found.identity() }),
        ),
      ),
    }),
    openFiles: async () => (control ? undefined : processes?.openFiles()),
    fullest: async () =>
      control ? undefined : findFullestProcess((await processes?.pids()) ?? (await listeners()) ?? []),
    connections: async () => (control || !processes || port === undefined ? undefined : connectionsTo(port)),
    stack: undefined,
    isHere: processes !== undefined,
    close: async () => {},
  };
}

/**
 * Finds the configured processes of each layer.
 * @throws CapacityError PROCESS_NOT_FOUND
 */
function processesOf(
  config: Settings,
  port: number | undefined,
  listening: PortListeners,
): Record<string, ServerProcesses> {
  const named = Object.entries(sourcesByLayer(config)).filter(([, sources]) => hasProcessSources(sources));
  return Object.fromEntries(
    named.map(([layer, query]) => [
      layer,
      layer === 'worker'
        ? new ServerProcesses(query, { port, listening })
        : new ServerProcesses(query, { option: `layers.${layer}` }),
    ]),
  );
}

/**
 * Opens the inspectors of the server's processes.
 * @param inspect inspector URLs, or true to use the target's processes
 * @throws CapacityError if a process cannot be inspected
 */
export function connectInspectors(inspect: true | string[], target: Pick<RunTarget, 'pids'>): Promise<Inspectors> {
  const pids = async () => (await addWorkerChildren(await target.pids([]))).worker ?? [];
  return Inspectors.connect(Array.isArray(inspect) ? { urls: inspect } : { pids });
}

/** Warns if the control token is sent unencrypted. The warning is only logged, because no figure depends on it. */
function logTokenInClear(urls: string[], log: (text: string) => void): void {
  const inClear = urls
    .map((url) => new URL(url))
    .filter((url) => url.protocol !== 'https:' && !isLoopback(url.hostname));
  if (inClear.length === 0) return;
  const hosts = inClear.map(({ host }) => host).join(', ');
  log(
    `Warning: the control token crosses the network unencrypted, to ${hosts}. Anyone who reads it can publish to the server's clients. ` +
      'Give `instrument(io)` the option `tls`, and the run https:// control URLs; or use a tunnel.',
  );
}

/**
 * Opens the running stack.
 * @throws CapacityError IN_USE if another run uses the stack, STACK_RUNNING if the stack does not match the settings
 */
function requireFree({ tls, redisNodes: wanted }: Settings, state: StackState): void {
  const { ownerPid, target, redisNodes } = state;
  if (ownerPid !== undefined) {
    throw new CapacityError(
      'IN_USE',
      `another run (process ${ownerPid}) is already measuring on this stack, and two runs would distort each other's figures`,
      'wait until it ends, or keep a stack up for several runs: npx socketio-capacity stack up',
    );
  }
  const otherStack = (how: string, fix: string) => {
    const down = 'take it down (npx socketio-capacity stack down)';
    return new CapacityError('STACK_RUNNING', `the stack that is up ${how}`, `${down}, or ${fix}`);
  };
  const hasTls = isTlsUrl(target);
  if (tls && !hasTls) throw otherStack('does not speak TLS', 'npx socketio-capacity stack up --tls');
  if (!tls && hasTls) throw otherStack('speaks TLS', 'set TLS=on');
  const { length } = redisNodes;
  if (wanted === undefined || wanted === length) return;
  const has =
    length === 0 ? 'no Redis of its own' : length === 1 ? 'a single Redis' : `a Redis Cluster of ${length} nodes`;
  throw otherStack(`has ${has}, and REDIS_NODES asks for ${wanted}`, 'leave REDIS_NODES out');
}
