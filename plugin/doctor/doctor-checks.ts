/** Catalogue of the doctor's checks by printed name. The reference has a line for each. */

/** Limit → limited resource. */
export const LIMITS = {
  generatorFiles: 'open files of the fleet: 64 processes per Artillery worker, each with `ulimit -n` less 200',
  generatorPorts: 'source ports towards one target, from all `localAddresses`; polling connections count twice',
  proxyPorts: 'source ports from nginx to the workers',
  workerFiles: 'open files of the Socket.IO workers: `ulimit -n` less 256 each',
  nginxConnections: 'half of nginx’s `worker_connections`, less a margin for uneven hashing',
  machineMemory: 'available memory, for generator and stack',
  containerMemory: 'the same in a container whose memory limit leaves less',
  systemFiles: '`fs.file-max`: a connection has up to four ends on this machine',
  conntrack: '`nf_conntrack_max`, if the kernel tracks connections',
  pings: 'cores: with the bundled stack, pings to idle connections take CPU time',
};
export type LimitName = keyof typeof LIMITS;

/** One limited resource. A number of connections fits if `needs` is at most `has`. */
export interface LimitCheck {
  name: LimitName;
  needs: (connections: number) => number;
  /** Depends on the connections, because the stack is planned for them. */
  has: (connections: number) => number;
  /** @returns how to raise the limit to `needed`, as a command where possible */
  raise: (needed: number, connections: number) => string;
}

/** Warning → its condition. A run starts despite warnings. */
export const WARNINGS = {
  unmeasured: 'the scenario has no plugin, so nothing measures the server',
  leaving: 'some virtual users leave by themselves, and others stay; or all do with another engine',
  alone: 'each virtual user leaves before the next one arrives',
  acceptQueue: 'half a second of new connections exceeds a listener’s queue: the kernel drops the rest',
  rampCpu: 'more new connections per second than the cores usually handle beside the pings',
  broadcastCpu: 'a broadcast to all takes longer than `broadcasts.interval`',
  generatorWaits: 'a broadcast keeps all cores of this machine busy for so long that the generator receives late',
  tcpMemory: 'a broadcast can fill more socket buffers than `net.ipv4.tcp_mem` allows',
};
export type WarningName = keyof typeof WARNINGS;

/** Check of a target → the condition that passes it. */
export const TARGET_CHECKS = {
  name: 'the target’s name has an address',
  certificate: 'the certificate at each address is valid, for this name, and trusted',
  websocket: 'each address upgrades to WebSocket, through all proxies in between',
  polling: 'if the scenario polls: all requests of a session reach the same worker',
  connect: 'the server accepts a connection with the scenario’s `auth` and, with control ports, its join',
  control: 'each control port can be reached, accepts the token, and has the same version',
  workers:
    'the control ports are those of all workers, each once, and accept the size of the broadcasts; an adapter connects the workers (else a warning)',
  clock: 'each worker’s clock is known to 1 ms (else a warning)',
  processes: 'the processes in the settings exist and are readable',
  inspector: 'with `workers.inspect`: each process can be inspected',
  redis: 'Redis lets this user read its memory (else a warning)',
  metrics: 'each page of metrics has the memory of its layer',
  limits: 'ports and files of this machine suffice',
  burst: 'with `--burst`: no limit on connections or on their rate is hit; without it, such limits are not checked',
  idle: 'a silent connection stays open for `pingInterval` + `pingTimeout`, at most 120 s',
};
export type TargetCheckName = keyof typeof TARGET_CHECKS;
