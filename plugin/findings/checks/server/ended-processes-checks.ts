/**
 * Finds processes of the deployment that ended or were halted during the run, which usually explains lost connections
 * and copies.
 */
import { PROXY_LAYER_NAMES, titleOfLayer } from '../../../../protocol/documents/named-layers.ts';
import { type FindingValue, findingValues } from '../../../../protocol/result/findings.ts';
import { standstillValue } from '../../../../report/figures/stalls.ts';
import { decimalsText, integerText, totalOfCounts } from '../../../../report/text/format.ts';
import type { Measurements } from '../../../run/measurements/measurements.ts';
import type { EndedProcess, HaltedProcess } from '../../../samplers/index.ts';
import { type CheckFinding, defineCheck, defineCheckUnless, type FindingDetail, type RunFigures } from '../../check.ts';
import { deploymentFailures, filterCounts } from '../connections/failure-causes.ts';
import { filesBesideConnections } from '../connections/limits-checks.ts';
import { restartedWorkers, silentWorkers } from './ended-workers.ts';

/** Minimum share of the limit of open files in use from which the limit is reported. */
const NEARLY_FULL = 0.8;
/** Maximum number of ended processes that a message lists. */
const MAX_LISTED = 3;

/** Pattern of the disconnect reasons that clients report when a server process ends. */
const CUT_OFF = /^(disconnected_)?(transport[ _](close|error))$/;

// Ctrl-C in a shared terminal stops both the server and the run.
export const endedProcessesChecks = [
  defineCheckUnless('stop', 'PROCESS_ENDED', (result, measurements) => ended(result, measurements)),
  defineCheck('PROCESS_ENDED', (_, measurements) => restarted(measurements)),
  defineCheck('PROCESS_ENDED', (result, measurements) => gone(result, measurements)),
  defineCheckUnless('stop', 'PROCESS_HALTED', (_, measurements) =>
    measurements.haltedProcesses().map((one) => haltOf(one, measurements)),
  ),
];

const HALTS: Record<HaltedProcess['state'], { what: string; fix: string }> = {
  T: {
    what: 'was stopped by a signal',
    fix: 'find what sends it SIGSTOP or SIGTSTP: a debugger, job control, a freezer of the platform',
  },
  t: { what: 'was stopped by a debugger', fix: 'detach the debugger or tracer from it during a run' },
  D: {
    what: 'used no CPU while it waited in the kernel',
    fix: 'see `dmesg` and its disk and network file systems: it waited for I/O, or for a child process to start',
  },
};

function haltOf(one: HaltedProcess, measurements: Measurements): FindingDetail {
  const { state, sinceUs, untilUs, pid } = one;
  const since = endedAtSeconds({ atUs: sinceUs }, measurements);
  const length = untilUs === undefined ? undefined : (untilUs - sinceUs) / 1e6;
  const lasting = length === undefined ? ', and did not go on' : `, for ${decimalsText(length, 1)} s`;
  const { what, fix } = HALTS[state];
  return {
    message: `${nameOf(one, measurements)} ${what} (state ${state})${atText(since)}${lasting}`,
    fix,
    subject: `process ${pid}`,
    ...inWindow(windowAt(since, measurements)),
    values: [
      ...findingValues({ 'start of the standstill': laterThanStart(since) }, 's'),
      ...(length === undefined ? [] : standstillValue(length)),
    ],
  };
}

/** Returns a text such as `worker w0 (process 7, node app.mjs)` or `Redis (process 8, redis-server)`. */
function nameOf(
  { pid, layer, command }: Omit<HaltedProcess, 'state' | 'sinceUs' | 'untilUs'>,
  measurements: Measurements,
): string {
  const worker = workerOf(pid, measurements);
  if (worker !== undefined) return `worker ${worker} (process ${pid}, ${command})`;
  return layer === 'worker' ? `process ${pid} (${command})` : `${titleOfLayer(layer)} (process ${pid}, ${command})`;
}

function workerOf(pid: number, { workersAtStart }: Measurements): string | undefined {
  return workersAtStart.find((worker) => worker.pid === pid)?.worker;
}

/** Returns whether the process holds connections of clients, which close when it ends. */
export function holdsConnections({ layer }: Pick<EndedProcess, 'layer'>): boolean {
  return layer === 'worker' || (PROXY_LAYER_NAMES as string[]).includes(layer);
}

function restarted(measurements: Measurements): CheckFinding {
  const workers = restartedWorkers(measurements);
  const [first] = workers;
  if (!first) return undefined;
  const texts = workers.map(({ worker, evidence, t, connections = 0 }) => {
    const held = connections > 0 ? `, after it had ${integerText(connections)} connections` : '';
    return `${worker} restarted${t === undefined ? '' : atText(t)}${held} (${evidence})`;
  });
  return {
    message: `${texts.join(', ')}${measurements.fault ? ', other than the planned fault has it' : ''}`,
    subject: first.worker,
    ...inWindow(windowAt(first.t, measurements)),
    values: [
      ...connectionsOf(workers),
      ...workers.flatMap(({ worker, t }) => findingValues({ [`restart of ${worker}`]: t }, 's')),
    ],
  };
}

function gone(result: RunFigures, measurements: Measurements): CheckFinding {
  const { ended: workers } = silentWorkers(result, measurements);
  const [first] = workers;
  if (!first) return undefined;
  const texts = workers.map(
    ({ worker, connections }) => `${worker} ended, after it had ${integerText(connections)} connections`,
  );
  return {
    message: `${texts.join(', ')}: its control port refuses connections, and clients were cut off`,
    subject: first.worker,
    values: connectionsOf(workers),
  };
}

/** Returns the number of connections that the ended workers had at the last check. */
function connectionsOf(workers: { connections?: number }[]): FindingValue[] {
  return workers.flatMap(({ connections }) => (connections === undefined ? [] : findingValues({ connections })));
}

function ended(result: RunFigures, measurements: Measurements): CheckFinding {
  const all = measurements.endedProcesses();
  const [first, ...others] = all;
  if (!first) return undefined;
  const cut = totalOfCounts(filterCounts(deploymentFailures(result.connections.lost), (cause) => CUT_OFF.test(cause)));
  const lost = all.some(holdsConnections) ? cut : 0;
  const isBefore = (endedAtSeconds(first, measurements) ?? -1) < 0;
  const [warmUp] = isBefore ? measurements.observations.of('warmUpFailed') : [];
  const during = warmUp
    ? `, when the run had opened up to ${integerText(warmUp.connections)} short connections, beside its own clients`
    : '';
  const times = (one: EndedProcess) => atText(endedAtSeconds(one, measurements));
  const named = ({ pid, layer }: EndedProcess) =>
    workerOf(pid, measurements) ?? `${layer === 'worker' ? 'process' : titleOfLayer(layer)} ${pid}`;
  const further = others.slice(0, MAX_LISTED).map((one) => `${named(one)}${times(one)}`);
  const more = others.length > MAX_LISTED ? `, and ${integerText(others.length - MAX_LISTED)} more` : '';
  const after = further.length > 0 ? `, then ${further.join(', ')}${more}` : '';
  const connections = lost > 0 ? ` with ${integerText(lost)} connections${after === '' ? '' : ' in all'}` : '';
  const full = all.find(({ openFiles = 0, limit }) => limit !== undefined && openFiles >= NEARLY_FULL * limit);
  const { openFiles, limit } = full ?? first;
  const mostHeld = Math.max(result.connections.peak, warmUp?.connections ?? 0);
  const beside = full && filesBesideConnections(full.command, full.openFiles ?? 0, mostHeld);
  const besideText = beside === undefined ? '' : `, at least ${integerText(beside)} of which were no connections`;
  const isNear = !full && warmUp && first.limit !== undefined && mayFill(first, warmUp.connections);
  const near = isNear
    ? `; it may have ${integerText(limit ?? 0)} files open, and had ${integerText(openFiles ?? 0)} just before`
    : '';
  const files = full
    ? `; ${full === first ? 'it' : named(full)} had ${integerText(full.openFiles ?? 0)} of ${integerText(full.limit ?? 0)} open files${besideText}`
    : near;
  const window = windowAt(endedAtSeconds(first, measurements), measurements);
  const how = lost > 0 && wasOrderly(result.connections.ends) ? ORDERLY : limitOf(first);
  return {
    message: `${nameOf(first, measurements)} ended${times(first)}${during}${after}${connections}${how?.text ?? ''}${files}`,
    subject: `process ${first.pid}`,
    ...inWindow(window),
    // Plateaus are measured before this point of the run, so a process that ended later does not affect them.
    ...(window !== undefined &&
      window !== 'ramp' &&
      measurements.plateaus.length > 0 && { invalidates: ['cpu' as const] }),
    ...(how && { fix: how.fix }),
    values: [
      ...findingValues({
        ...(lost > 0 && { connections: lost }),
        'short connections before the load': warmUp?.connections,
        ...((full || isNear) && { 'open files': openFiles, 'limit of open files': limit }),
        'open files beside connections': beside,
      }),
      ...all
        .slice(0, 1 + MAX_LISTED)
        .flatMap((one) =>
          findingValues({ [`end of ${named(one)}`]: laterThanStart(endedAtSeconds(one, measurements)) }, 's'),
        ),
      ...findingValues({ 'limit of the heap': how?.bytes }, 'bytes'),
    ],
    ...(full && { fix: beside === undefined ? FULL_FIX : LEAKED_FIX }),
    ...(isNear && { fix: NEAR_FIX }),
  };
}

/** Maximum number of open files per connection: its socket, and some files of the application. */
const FILES_EACH = 4;
const mayFill = ({ openFiles = 0, limit = 0 }: EndedProcess, connections: number) =>
  openFiles + FILES_EACH * connections >= limit;
const NEAR_FIX =
  'see its log: if it says EMFILE, raise the limit of open files (`ulimit -n`, `LimitNOFILE`), or find which files it does not close';

const FULL_FIX =
  'raise the limit of open files of the server (`ulimit -n`, `LimitNOFILE`), and let it survive EMFILE: see its log';
const LEAKED_FIX =
  'find which files the server opens and does not close: start it again, connect some clients, and list `/proc/<pid>/fd`';

const ORDERLY: { text: string; fix: string; bytes?: number } = {
  text: ': shut down in order (its connections were closed with frames)',
  fix: 'find what stopped it: a deploy, a supervisor that sends SIGTERM or SIGINT, or its own exit after `io.close()`',
};

/** Returns whether all lost connections closed with a close frame. A process that crashes sends none. */
function wasOrderly(ends: RunFigures['connections']['ends']): boolean {
  return ends.length > 0 && ends.every(({ cause }) => /^closed_(1000|1001|1005|1012)$/.test(cause));
}

/** Returns the memory limit that the command line of the process sets. */
function limitOf({ command }: EndedProcess): typeof ORDERLY | undefined {
  const megabytes = Number(/--max[-_]old[-_]space[-_]size[= ](\d+)/.exec(command)?.[1]);
  return megabytes > 0
    ? {
        bytes: megabytes * 1024 ** 2,
        text: `; its heap was limited to ${integerText(megabytes)} MB (\`--max-old-space-size\`)`,
        fix: 'see its log: if it says "heap out of memory", raise `--max-old-space-size`, or find what fills the heap',
      }
    : undefined;
}

/** Converts a time to seconds on the time axis of the samples; undefined before the first sample. */
export function endedAtSeconds(
  { atUs }: Pick<EndedProcess, 'atUs'>,
  { samplesBeganAtUs }: Measurements,
): number | undefined {
  return samplesBeganAtUs === undefined ? undefined : (atUs - samplesBeganAtUs) / 1e6;
}

/** Returns the time; undefined if it is before the load. */
function laterThanStart(seconds: number | undefined): number | undefined {
  return seconds === undefined || seconds < 0 ? undefined : seconds;
}

function atText(seconds: number | undefined): string {
  const at = laterThanStart(seconds);
  return at === undefined ? ' before the load' : ` at ${decimalsText(at, 1)} s`;
}

const WINDOWS: Record<string, string> = {
  hold: 'hold',
  broadcasts: 'broadcasts',
  drain: 'broadcasts',
  fault: 'broadcasts',
  disconnect: 'disconnect',
  'end of the run': 'disconnect',
  profile: 'disconnect',
};

/** Returns the measurement window at a time; undefined before the load. */
function windowAt(seconds: number | undefined, { stages }: Measurements): string | undefined {
  if (seconds === undefined || seconds < 0) return undefined;
  const stage = stages.findLast(({ t }) => t <= seconds)?.name ?? '';
  return WINDOWS[stage] ?? 'ramp';
}

const inWindow = (window: string | undefined) => (window === undefined ? {} : { window });
