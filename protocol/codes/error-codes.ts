/**
 * All codes of `CapacityError`. Each code stands for one action that the user can take. Scripts compare codes, so a
 * code keeps its meaning in later versions. `npm run docs:reference` generates docs/reference/errors.md from this list.
 */

/** Entry of a catalogue of codes. The texts may contain backticks, but no other Markdown. */
export interface CodeDefinition {
  /** Situation in which the code is reported, with its threshold. */
  meaning: string;
  /** Action that the user can take. */
  remedy: string;
}

const CODES = {
  // Settings
  CONFIG_INVALID: {
    meaning: 'errors in options, environment variables, a scenario or a study',
    remedy: 'correct what is listed',
  },
  RATE_IMPOSSIBLE: {
    meaning: 'arrivals that cannot be divided evenly among the hosts',
    remedy: 'choose a `RATE`, or a number of hosts, that divides the arrivals of every phase',
  },
  FAULT_IMPOSSIBLE: {
    meaning: 'the deployment lacks the part that `fault.kind` would hit',
    remedy: 'for your own server, write a `command` that causes the fault, or use `drop-connections`',
  },
  EVENT_NOT_FOUND: {
    meaning: '`init` found no event that it can count',
    remedy: 'give `--emit`, `--publish` or `--listen`; or `--listen 0` to measure connections only',
  },
  ALL_FAILED: {
    meaning: 'without the plugin: all virtual users failed',
    remedy: "see the failures' codes; set a lower limit with `ensure`",
  },

  // Files
  FILE_UNREADABLE: {
    meaning: 'a file is missing, damaged, of another kind or an older version',
    remedy: 'choose another file or folder, or read it with the version that wrote it',
  },
  FILE_UNWRITABLE: {
    meaning: 'the command cannot write a file or folder',
    remedy: 'free space on its disk, or choose another folder',
  },
  BASELINE_MISSING: {
    meaning: 'the file has no baseline of that name',
    remedy: 'save one: `npx socketio-capacity compare <result> --save <file>`',
  },
  BASELINE_INVALID: {
    meaning: 'the result to save is INVALID, or missing',
    remedy: 'measure again; `report.html` beside the result has the reasons',
  },
  BASELINE_NOT_COMPARABLE: {
    meaning: 'result and baseline have different loads or hardware',
    remedy: 'measure under the same conditions, or save a new baseline',
  },
  SERIES_CHANGED: {
    meaning: 'other settings than those of the earlier runs in that folder',
    remedy: 'undo the change, or choose another folder: `--results <folder>`',
  },
  IN_USE: {
    meaning: 'another process uses the stack, or the folder of the series',
    remedy: 'wait until it ends, choose another folder (`--results <folder>`), or keep a stack up for several runs',
  },

  // The machine
  NODE_TOO_OLD: {
    meaning: 'Node is older than 22.18',
    remedy: 'install Node 24; in a checkout, `npx` and `npm run` use the version that `npm install` installs',
  },
  NOT_INSTALLED: {
    meaning: 'a program or package is not installed',
    remedy: 'install it: `npm run setup` brings nginx and Redis, `npm install` a package; or leave out what needs it',
  },
  VERSIONS_DIFFER: {
    meaning: 'engine, or `instrument(io)`, of another build than the plugin',
    remedy: 'install all from one release or checkout, the engine beside Artillery',
  },
  ENGINE_NOT_READY: {
    meaning: 'no engine became ready',
    remedy: 'see the lines above: Artillery could not load the engine, or a worker of Artillery has ended',
  },
  LIMIT_TOO_LOW: {
    meaning: 'too few open files, processes, ports or too little memory',
    remedy: 'raise the limit that the message names, or use fewer connections',
  },
  PORT_UNAVAILABLE: {
    meaning: 'another program listens there, or this user may not',
    remedy: "stop the other program (`ss -ltnp 'sport = :<port>'` names it), or choose another address or port",
  },
  STATE_DIR_UNUSABLE: {
    meaning: 'the state folder is not writable, open to others, or its path too long',
    remedy: 'set `SOCKETIO_CAPACITY_HOME` to a folder of your own with a short path',
  },
  LINUX_ONLY: {
    meaning: 'the benches read `/proc`, and use epoll',
    remedy: 'run them on Linux',
  },
  UNEXPECTED: {
    meaning: 'an unexpected failure',
    remedy: 'please report it, with the lines above and the scenario',
  },

  // The stack
  START_FAILED: {
    meaning: 'a program of the run did not start, or ended',
    remedy: 'correct the errors in its output',
  },
  STACK_RUNNING: {
    meaning: 'a stack is up already, perhaps with other settings',
    remedy: 'use it, or take it down: `npx socketio-capacity stack down`',
  },
  STACK_STUCK: {
    meaning: 'processes of the stack do not end',
    remedy: 'kill the processes that the message lists',
  },
  REDIS_UNREACHABLE: {
    meaning: 'no Redis answers at the address',
    remedy: 'start Redis there, correct `REDIS_URL`, or choose `CAPACITY_ADAPTER=in-memory`',
  },
  REDIS_REFUSES: {
    meaning: 'Redis refuses its user, or is older than 7.0',
    remedy: 'use Redis 7.0 or newer for the sharded adapters, or `CAPACITY_ADAPTER=redis`',
  },

  // Several hosts
  HOSTS_MISSING: {
    meaning: 'not all hosts connected in time, or one disconnected before the load',
    remedy: 'start Artillery on every host; open the conductor’s port in all firewalls between',
  },
  HOSTS_DISAGREE: {
    meaning: 'hosts with another version, scenario or share, or too many',
    remedy: 'give all hosts the same version, scenario and variables',
  },
  CONDUCTOR_UNREACHABLE: {
    meaning: 'a host lost its conductor, or found none',
    remedy: 'see the output of `conduct`; open its port in all firewalls between',
  },
  BAD_TOKEN: {
    meaning: 'a token or its certificate is wrong',
    remedy: 'give server and run the same control token, and hosts the join token that this run’s conductor printed',
  },

  // The target
  TARGET_UNREACHABLE: {
    meaning: 'no Socket.IO connection to the target',
    remedy: 'check that the target is a Socket.IO 4 server, and check its path and certificate',
  },
  JOIN_REFUSED: {
    meaning: 'the server refuses every `join_room`, or does not acknowledge it',
    remedy: 'call `instrument(io)` in the server, with that room among its `rooms`',
  },
  DELIVERY_UNMATCHED: {
    meaning: 'the event of `delivery` has no id or time at its paths',
    remedy: 'correct the path in `delivery`: it must lead to an id that all copies of a broadcast share',
  },
  PUBLISHER_CLOSED: {
    meaning: 'a publisher’s connection ended before the load',
    remedy: 'see in the log of the server why it closed it; correct the flow, or `delivery.publish.emit`',
  },
  CONTROL_MISSING: {
    meaning: 'no control namespace there, or connections are not counted',
    remedy: 'call `instrument(io)` in the server, and name its ports in `control.urls`',
  },
  WORKER_URLS_WRONG: {
    meaning: 'control URLs do not lead to every worker once, or two workers have one name',
    remedy: 'list the control URL of every worker once (not of a load balancer), and give each its own name',
  },
  SOURCE_UNREACHABLE: {
    meaning: 'a URL of `control`, `workers` or `layers` does not answer',
    remedy: 'start it, let it listen where the generator reaches it, or correct its URL',
  },
  CONTROL_TIMEOUT: {
    meaning: 'a worker did not answer a control request in time',
    remedy: 'its event loop is blocked, or it is out of memory: see its log, or lower the load',
  },
  REQUEST_FAILED: {
    meaning: 'a worker could not carry out a control request',
    remedy: 'see the log of the worker',
  },
  METRICS_MISSING: {
    meaning: 'a page of metrics without the memory of a layer',
    remedy: 'export default metrics (prom-client: `collectDefaultMetrics()`), or correct the labels',
  },
  PROCESS_NOT_FOUND: {
    meaning: '`pids`, `match` or `cgroup` finds no process on this machine',
    remedy: 'correct it: `ps -eo pid,args` lists processes',
  },
  INSPECTOR_FORBIDDEN: {
    meaning: 'the process belongs to another user',
    remedy: 'run as the user of the server, or as root',
  },
  INSPECTOR_UNSUITABLE: {
    meaning: 'no runtime whose memory can be read from outside',
    remedy:
      'name the processes of the server; or leave `inspect` out: memory is then that of the processes, with garbage',
  },
  INSPECTOR_OFF: {
    meaning: 'the process does not catch SIGUSR1, as with `--disable-sigusr1`',
    remedy:
      'start the server without `--disable-sigusr1`; or with `--inspect`, and name the URL of its inspector in `workers.inspect`',
  },
  INSPECTOR_SILENT: {
    meaning: 'the process got SIGUSR1 and opened no inspector, as with a handler of its own',
    remedy:
      'start it with `--inspect`, and name the URL of its inspector in `workers.inspect`; or remove its handler for SIGUSR1',
  },
  INSPECTOR_BUSY: {
    meaning: 'another program has the inspector’s port, or is connected to it',
    remedy: 'stop the program in the message during the run',
  },
  INSPECTOR_EXPOSED: {
    meaning: 'the inspector would listen on another address than loopback',
    remedy: 'start the server with `--inspect-port=127.0.0.1:9229`, or without this option',
  },
  INSPECTOR_HIDDEN: {
    meaning: 'the process has a network of its own, as in a container',
    remedy:
      "publish the inspector's port on 127.0.0.1, start the server with `--inspect=0.0.0.0` inside, and name the URL of its inspector in `workers.inspect`",
  },
  NOT_ATTACHED: {
    meaning: '`instrument(io)` before Socket.IO had an HTTP server',
    remedy: 'call it after `new Server(httpServer)`, `io.attach(httpServer)` or `io.listen(port)`',
  },
} satisfies Record<string, CodeDefinition>;

export type ErrorCode = keyof typeof CODES;

export const ERROR_CODES: Record<ErrorCode, CodeDefinition> = CODES;
