/** Checks the workers before the load, for a run and for the doctor. */
import { setTimeout as delay } from 'node:timers/promises';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import type { WorkerStats } from '../../../protocol/wire/events.ts';
import type { Settings } from '../../script/settings.ts';
import type { WorkerControl } from './control-client.ts';

/**
 * Time limit for the adapter to count the right number of servers, in milliseconds. Some adapters still count a server
 * ten seconds after its exit.
 */
const COUNT_TIMEOUT_MS = 12_000;
const POLL_MS = 1000;
/** Bytes of an echo message without its payload: event names, number, time and namespace. */
const ENVELOPE_BYTES = 500;

type Controls = Pick<WorkerControl, 'size' | 'stats' | 'servers'>;

/**
 * Checks that the control URLs lead to every worker of the deployment exactly once, and that a broadcast is smaller
 * than their message limit.
 * @param log called if the check takes a while
 * @throws CapacityError WORKER_URLS_WRONG or CONFIG_INVALID, or the signal's reason
 */
export async function requireWorkers(
  control: Controls,
  broadcasts: Broadcasts,
  log: (text: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const workers = await control.stats();
  requireDistinct(workers);
  await requireAll(control, workers, log, signal);
  requireFittingPayload(broadcasts, workers);
}

async function requireAll(
  control: Controls,
  workers: WorkerStats[],
  log: (text: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const deadlineMs = performance.now() + COUNT_TIMEOUT_MS;
  let hasLogged = false;
  for (;;) {
    const servers = await control.servers();
    if (servers === undefined || servers <= control.size) return;
    if (performance.now() > deadlineMs) throw incomplete(servers, workers);
    if (!hasLogged)
      log(`The adapter counts ${servers} servers, and the run controls ${control.size}; waiting for it to agree.`);
    hasLogged = true;
    await delay(POLL_MS, undefined, { signal });
  }
}

function requireDistinct(workers: WorkerStats[]): void {
  const sameProcess = findDuplicates(workers, ({ instance }) => instance);
  if (sameProcess) {
    throw new CapacityError(
      'WORKER_URLS_WRONG',
      `${sameProcess.length} control addresses lead to the same process, ${sameProcess[0]?.worker}, whose memory and connections would count ${sameProcess.length} times`,
    );
  }
  const sameName = findDuplicates(workers, ({ worker }) => worker);
  if (!sameName) return;
  throw new CapacityError(
    'WORKER_URLS_WRONG',
    `${sameName.length} workers have the same name, ${sameName[0]?.worker}, and cannot be told apart`,
    'give each worker a name of its own: instrument(io, {worker}); without this option, it is made of host name and process id',
  );
}

function incomplete(servers: number, workers: WorkerStats[]): CapacityError {
  const named = workers.map(({ worker }) => worker).join(', ');
  return new CapacityError(
    'WORKER_URLS_WRONG',
    `the deployment's adapter counts ${servers} servers, and the run controls ${workers.length}: ${named}`,
    'name the control address of every worker in control.urls; if another deployment uses the same Redis, give each a key of its own in the options of the adapter',
  );
}

/** Returns the first group of workers with the same key; undefined if all are different. */
function findDuplicates(workers: WorkerStats[], keyOf: (worker: WorkerStats) => string): WorkerStats[] | undefined {
  const groups = Map.groupBy(workers, keyOf);
  return [...groups.values()].find(({ length }) => length > 1);
}

type Broadcasts = Pick<Settings['broadcasts'], 'bytes' | 'binary'>;

/** Checks the server's message limit. A server closes the probe if an echoed broadcast exceeds the limit. */
function requireFittingPayload({ bytes, binary }: Broadcasts, workers: WorkerStats[]): void {
  const needed = bytes + (binary ? 0 : ENVELOPE_BYTES);
  for (const { worker, server } of workers) {
    // Servers other than the included server may report no limit, or a limit that is not a number; 0 means no limit.
    const limit = Number(server.options.maxHttpBufferSize);
    if (!(limit > 0 && limit < needed)) continue;
    throw new CapacityError(
      'CONFIG_INVALID',
      `config.plugins.socketio-capacity.broadcasts.bytes: the probe sends each broadcast of ${bytes} bytes back, and ${worker} takes messages of at most ${limit} (maxHttpBufferSize)`,
      'lower `broadcasts.bytes`, or raise `maxHttpBufferSize` in the options of the server',
    );
  }
}
