/** Everything that the doctor checks, by the names that it prints: the reference has a line for each. */

/** Limit → what it is a limit of. */
export const LIMITS = {
  generatorFiles: 'open files of the fleet: 64 processes per Artillery worker, each with `ulimit -n` less 200',
  generatorPorts: 'source ports towards one target, from all `localAddresses`; polling connections count twice',
  proxyPorts: 'source ports from nginx to the workers',
  workerFiles: 'open files of the Socket.IO workers: `ulimit -n` less 256 each',
  nginxConnections: 'half of nginx’s `worker_connections`, less a margin for uneven hashing',
  machineMemory: 'available memory, by what generator and stack take per connection',
  containerMemory: 'likewise, where a container’s memory limit leaves less',
  systemFiles: '`fs.file-max`: a connection has up to four ends on this machine',
  conntrack: '`nf_conntrack_max`, if the kernel tracks connections',
  pings: 'cores, by what pings to idle connections cost the bundled stack',
};
export type LimitName = keyof typeof LIMITS;

/** A machine or a deployment holds as many connections as it has what they need. */
export interface LimitCheck {
  name: LimitName;
  needs: (connections: number) => number;
  /** Plans grow with the connections. */
  has: (connections: number) => number;
  /** @returns how to raise it to what so many connections need, as a command where possible */
  raise: (needed: number, connections: number) => string;
}

/** Warning → when it is given. A run starts nevertheless. */
export const WARNINGS = {
  unmeasured: 'the scenario has no plugin, so nothing measures the server',
  leaving: 'virtual users leave by themselves, without `hold` and without `overTime`',
  acceptQueue: 'half a second of new connections exceeds a listener’s queue: the kernel drops the rest',
  rampCpu: 'more new connections per second than the cores usually handle beside the pings',
  broadcastCpu: 'a broadcast to all takes longer than `broadcasts.interval`',
  generatorWaits: 'a broadcast keeps the workers on all cores of this machine so long that the generator receives late',
  tcpMemory: 'a broadcast can fill more socket buffers than `net.ipv4.tcp_mem` allows',
};
export type WarningName = keyof typeof WARNINGS;

/** Check of a target → what is tried, and what it fails on. */
export const TARGET_CHECKS = {
  name: 'the target’s name has an address',
  certificate: 'the certificate at each address is valid, for this name, and trusted',
  websocket: 'each address upgrades to WebSocket, through whatever is in between',
  polling: 'where the scenario polls: the requests of a session reach the same worker',
  connect: 'the server accepts a connection with the scenario’s `auth` and, with control ports, its join',
  control: 'each control port can be reached, takes the token, and has the same version',
  workers:
    'the control ports are those of all workers, each once, which take the broadcasts; an adapter connects them, or else a warning',
  clock: 'each worker’s clock is known to 1 ms, or else a warning',
  processes: 'the processes that the settings name exist, and may be read',
  inspector: 'with `workers.inspect`: each process can be inspected',
  redis: 'Redis lets this user read its memory, or else a warning',
  metrics: 'each page of metrics has the memory of its layer',
  limits: 'ports and files of this machine suffice',
  burst: 'with `--burst`: no limit of connections or of their rate is met; without it, such limits are not found',
  idle: 'a silent connection survives `pingInterval` + `pingTimeout`, at most 120 s',
};
export type TargetCheckName = keyof typeof TARGET_CHECKS;
