/**
 * Finds conditions of the machine and the load that do not prevent connections but distort measurements. Has no side
 * effects.
 */
import { decimalsText, integerText } from '../../report/text/format.ts';
import { coresNeeded, coresText } from './check-machine.ts';
import { pingCores } from './connection-costs.ts';
import { deploymentPlan } from './deployment.ts';
import type { DoctorWarningName } from './doctor-checks.ts';
import type { DoctorSituation } from './situation.ts';

export interface DoctorWarning {
  name: DoctorWarningName;
  message: string;
  /** Suggested fix, if possible as a command. */
  raise: string;
}

/**
 * CPU time of one connect without pings, and of one delivered message, in seconds. `remote`: the generator's part only.
 */
const CPU_SECONDS = { connect: { local: 1.45e-3, remote: 0.7e-3 }, message: { local: 38e-6, remote: 10e-6 } };
/**
 * Maximum CPU time of a broadcast, in seconds and summed over all cores. Above it, the generator reads copies late. On
 * two cores, it was on time with 100,800 receivers, and 127 ms late with 252,000.
 */
const MAX_SECONDS_OF_ALL_CORES = 2;
/** Length of the accept queue that nginx and the workers request from the kernel. */
const BACKLOG = 4096;
/**
 * Time in seconds for which a listening process may be busy. Its accept queue must hold all new connections of this
 * time.
 */
const BUSY_SECONDS = 0.5;
/**
 * Size of a memory page, in which the kernel counts socket buffers. During a broadcast, each end of a connection may
 * hold one page.
 */
const PAGE_BYTES = 4096;

export function findDoctorWarnings(situation: DoctorSituation): DoctorWarning[] {
  return [leaving, alone, acceptQueue, rampCpu, broadcastCpu, generatorWaits, tcpMemory].flatMap(
    (check) => check(situation) ?? [],
  );
}

type Check = (situation: DoctorSituation) => DoctorWarning | undefined;

const leaving: Check = ({ load }) => {
  if (!load.leaves) return undefined;
  return {
    name: 'leaving',
    message:
      'some virtual users leave by themselves, so there may be few connections left when the run measures memory, idle CPU and delivery',
    raise: 'end all flows with `hold: true`, or none',
  };
};

const alone: Check = ({ load }) => {
  if (!load.alone) return undefined;
  return {
    name: 'alone',
    message: 'each virtual user leaves before the next one arrives, so there is never more than one connection',
    raise: 'let them stay: add `think: <seconds>` to the flow, or end it with `hold: true`; or raise `arrivalRate`',
  };
};

const acceptQueue: Check = ({ machine, load, deployment }) => {
  const plan = deploymentPlan(deployment, machine, load.connections);
  if (!plan || load.ratePerSec === null) return undefined;
  const queue = Math.min(BACKLOG, machine.somaxconn);
  const listeners = deployment.profile === 'full' ? Math.min(plan.workers, plan.nginx.workers) : 1;
  const needed = Math.ceil((load.ratePerSec * BUSY_SECONDS) / listeners);
  if (queue >= needed) return undefined;
  return {
    name: 'acceptQueue',
    message: `${integerText(load.ratePerSec)} connections/s fill an accept queue of ${integerText(queue)} while a worker is busy for less than ${BUSY_SECONDS} s; the kernel drops further connections`,
    raise: `sysctl -w net.core.somaxconn=${Math.max(BACKLOG, needed)}`,
  };
};

/**
 * Checks the end of the ramp, when the server also pings the connections that are already open. Only the included stack
 * has a known ping interval.
 */
const rampCpu: Check = (situation) => {
  const { machine, load, deployment } = situation;
  const { ratePerSec, local, connections } = load;
  const connectSeconds = CPU_SECONDS.connect[local ? 'local' : 'remote'];
  const coresForPings = deployment.profile === null ? 0 : pingCores(situation, connections);
  const highest = Math.floor((machine.cores - coresForPings) / connectSeconds);
  // If pings need all cores, the doctor reports the exceeded limit `pings`, so a warning is not needed.
  if (ratePerSec === null || ratePerSec <= highest || highest < 1) return undefined;
  const pings =
    coresForPings < 0.1
      ? ''
      : `, beside the pings of ${integerText(connections)}, which take ${decimalsText(coresForPings, 1)} cores with one every ${decimalsText(deployment.ping.intervalMs / 1000, 0)} s`;
  return {
    name: 'rampCpu',
    message: `${integerText(ratePerSec)} connections/s are more than ${coresText(machine)} usually handle (about ${integerText(highest)}/s${pings})`,
    raise: `RATE=${highest}, or ${coresNeeded(machine, ratePerSec * connectSeconds + coresForPings)}${pings === '' ? '' : ', or a longer CAPACITY_PING_INTERVAL_MS'}`,
  };
};

const broadcastCpu: Check = ({ machine, load }) => {
  const { broadcasts, connections } = load;
  if (!broadcasts) return undefined;
  const seconds = broadcastSeconds({ machine, load });
  if (seconds <= broadcasts.intervalSeconds) return undefined;
  return {
    name: 'broadcastCpu',
    message: `a broadcast to ${integerText(connections)} takes about ${decimalsText(seconds, 1)} s of CPU time on all of ${coresText(machine)}, but the next one follows after ${broadcasts.intervalSeconds} s, so broadcasts will queue and latencies will grow`,
    raise: `config.plugins.socketio-capacity.broadcasts.interval: ${Math.ceil(seconds * 1.5)}`,
  };
};

/**
 * Warns if the generator has to wait for CPU. If the stack has a much lower priority, the generator gets a core whenever
 * it needs one, so there is no warning.
 */
const generatorWaits: Check = ({ machine, load, deployment }) => {
  const seconds = broadcastSeconds({ machine, load });
  if (!load.broadcasts || !load.local || seconds <= MAX_SECONDS_OF_ALL_CORES || deployment.yieldsCpu) return undefined;
  return {
    name: 'generatorWaits',
    message: `a broadcast to ${integerText(load.connections)} takes all of ${coresText(machine)} for about ${decimalsText(seconds, 1)} s; a generator that waits for a core receives late, and the run is SUSPECT`,
    raise:
      '`sysctl -w kernel.sched_autogroup_enabled=0`, then `nice -n 19 npx socketio-capacity stack up` before the run; or another machine for the generator',
  };
};

/** Returns the duration of one broadcast if all cores work on it. */
function broadcastSeconds({ machine, load }: Pick<DoctorSituation, 'machine' | 'load'>): number {
  return (load.connections * CPU_SECONDS.message[load.local ? 'local' : 'remote']) / machine.cores;
}

const tcpMemory: Check = ({ machine, load, deployment }) => {
  if (!load.broadcasts) return undefined;
  const hops = load.local && deployment.profile === 'full' ? 2 : 1;
  const each = hops * (load.local ? 2 : 1) * Math.max(PAGE_BYTES, 2 * load.broadcasts.bytes);
  const needed = load.connections * each;
  if (needed <= machine.tcpMemoryBytes) return undefined;
  const pages = Math.ceil(needed / PAGE_BYTES);
  return {
    name: 'tcpMemory',
    message: `a broadcast can fill ${integerText(needed / 2 ** 20)} MB of socket buffers, but the kernel allows TCP only ${integerText(machine.tcpMemoryBytes / 2 ** 20)} MB`,
    raise: `sysctl -w net.ipv4.tcp_mem="${Math.ceil(pages / 2)} ${Math.ceil(pages * 0.75)} ${pages}"`,
  };
};
