/** Conditions that do not prevent connections, but distort what is measured. Pure. */
import { decimals, integer } from '../../report/text/format.ts';
import type { WarningName } from './checks.ts';
import { coresNeeded, coresText } from './cores.ts';
import { pingCores } from './costs.ts';
import { planFor } from './deployment.ts';
import type { Situation } from './situation.ts';

export interface Warning {
  name: WarningName;
  message: string;
  /** How to fix it, as a command where possible. */
  raise: string;
}

/** CPU of one connect without pings, and of one delivered message; for a remote target, of the generator's side only. */
const CPU_SECONDS = { connect: { local: 1.45e-3, remote: 0.7e-3 }, message: { local: 38e-6, remote: 10e-6 } };
/** nginx and the workers request an accept queue of this length. */
const BACKLOG = 4096;
/** A listener can be busy this long without losing a waiting connection. */
const BUSY_SECONDS = 0.5;
/** Redis disconnects a subscriber with this much pending output: `client-output-buffer-limit pubsub 32mb 8mb 60`. */
const REDIS_BUFFER_BYTES = 32 * 2 ** 20;
/** Overhead of an adapter's packet around the payload. */
const PACKET_BYTES = 200;
/** The kernel accounts buffers by pages; during a broadcast, both ends of a hop can hold one. */
const PAGE_BYTES = 4096;

export function findWarnings(situation: Situation): Warning[] {
  return [leaving, acceptQueue, proxyTimeout, rampCpu, broadcastCpu, redisBuffer, tcpMemory].flatMap(
    (check) => check(situation) ?? [],
  );
}

type Check = (situation: Situation) => Warning | undefined;

const leaving: Check = ({ load }) => {
  if (!load.leaves) return undefined;
  return {
    name: 'leaving',
    message:
      'virtual users leave by themselves, so the run may find no connections to measure memory, idle CPU and delivery with',
    raise: 'end the flow with `hold: true`',
  };
};

const acceptQueue: Check = ({ machine, load, deployment }) => {
  const plan = planFor(deployment, machine, load.connections);
  if (!plan || load.ratePerSec === null) return undefined;
  const queue = Math.min(BACKLOG, machine.somaxconn, machine.synBacklog);
  const listeners = deployment.profile === 'full' ? Math.min(plan.workers, plan.nginx.workers) : 1;
  const needed = Math.ceil((load.ratePerSec * BUSY_SECONDS) / listeners);
  if (queue >= needed) return undefined;
  const sysctl = machine.somaxconn <= machine.synBacklog ? 'core.somaxconn' : 'ipv4.tcp_max_syn_backlog';
  return {
    name: 'acceptQueue',
    message: `${integer(load.ratePerSec)} connections/s fill an accept queue of ${integer(queue)} while a worker is busy for less than ${BUSY_SECONDS} s; the kernel drops further connections`,
    raise: `sysctl -w net.${sysctl}=${Math.max(BACKLOG, needed)}`,
  };
};

const proxyTimeout: Check = ({ deployment }) => {
  const { proxyReadTimeoutSeconds: seconds, ping, profile } = deployment;
  const cycleSeconds = (ping.intervalMs + ping.timeoutMs) / 1000;
  if (profile !== 'full' || seconds > cycleSeconds) return undefined;
  return {
    name: 'proxyReadTimeout',
    message: `nginx closes connections that are idle for ${seconds} s, but Socket.IO can be idle for ${cycleSeconds} s`,
    raise: `nginx/nginx.conf.template: proxy_read_timeout ${Math.ceil(cycleSeconds * 2)}s;`,
  };
};

/** At its end: the connections that exist already are pinged, too. How often, is only known of a stack of ours. */
const rampCpu: Check = (situation) => {
  const { machine, load, deployment } = situation;
  const { ratePerSec, local, connections } = load;
  const each = CPU_SECONDS.connect[local ? 'local' : 'remote'];
  const ofPings = deployment.profile === null ? 0 : pingCores(situation, connections);
  const highest = Math.floor((machine.cores - ofPings) / each);
  // Without any core left, the connections do not fit.
  if (ratePerSec === null || ratePerSec <= highest || highest < 1) return undefined;
  const beside =
    ofPings < 0.1
      ? ''
      : `, beside the pings of ${integer(connections)}, which take ${decimals(ofPings, 1)} cores with one every ${decimals(deployment.ping.intervalMs / 1000, 0)} s`;
  return {
    name: 'rampCpu',
    message: `${integer(ratePerSec)} connections/s are more than ${coresText(machine)} usually handle (about ${integer(highest)}/s${beside})`,
    raise: `RATE=${highest}, or ${coresNeeded(machine, ratePerSec * each + ofPings)}${beside === '' ? '' : ', or a longer CAPACITY_PING_INTERVAL_MS'}`,
  };
};

const broadcastCpu: Check = ({ machine, load }) => {
  const { broadcasts, connections, local } = load;
  if (!broadcasts) return undefined;
  const seconds = (connections * CPU_SECONDS.message[local ? 'local' : 'remote']) / machine.cores;
  if (seconds <= broadcasts.intervalSeconds) return undefined;
  return {
    name: 'broadcastCpu',
    message: `a broadcast to ${integer(connections)} takes about ${decimals(seconds, 1)} s of CPU time on all of ${coresText(machine)}, but the next one follows after ${broadcasts.intervalSeconds} s, so broadcasts will queue and latencies will grow`,
    raise: `config.plugins.socketio-capacity.broadcasts.interval: ${Math.ceil(seconds * 1.5)}`,
  };
};

/** A worker that is blocked for longer than `pingTimeout` loses its clients anyway. */
const redisBuffer: Check = ({ load, deployment }) => {
  if (deployment.profile !== 'full' || !load.broadcasts) return undefined;
  const bytesPerSec = (load.broadcasts.bytes + PACKET_BYTES) / load.broadcasts.intervalSeconds;
  const seconds = deployment.ping.timeoutMs / 1000;
  if (bytesPerSec * seconds <= REDIS_BUFFER_BYTES) return undefined;
  const megabytes = Math.ceil((bytesPerSec * seconds) / 2 ** 20);
  return {
    name: 'redisOutputBuffer',
    message: `Redis disconnects a worker that falls ${decimals(REDIS_BUFFER_BYTES / bytesPerSec, 1)} s behind with these broadcasts, and what it misses is lost`,
    raise: `redis-cli config set client-output-buffer-limit "pubsub ${megabytes}mb ${megabytes}mb 60", on your own Redis (REDIS_URL)`,
  };
};

const tcpMemory: Check = ({ machine, load, deployment }) => {
  if (!load.broadcasts) return undefined;
  const hops = load.local && deployment.profile === 'full' ? 2 : 1;
  const each = hops * (load.local ? 2 : 1) * Math.max(PAGE_BYTES, 2 * load.broadcasts.bytes);
  const needed = load.connections * each;
  if (needed <= machine.tcpMemoryBytes) return undefined;
  const pages = Math.ceil(needed / PAGE_BYTES);
  return {
    name: 'tcpMemory',
    message: `a broadcast can fill ${integer(needed / 2 ** 20)} MB of socket buffers, but the kernel allows TCP only ${integer(machine.tcpMemoryBytes / 2 ** 20)} MB`,
    raise: `sysctl -w net.ipv4.tcp_mem="${Math.ceil(pages / 2)} ${Math.ceil(pages * 0.75)} ${pages}"`,
  };
};
