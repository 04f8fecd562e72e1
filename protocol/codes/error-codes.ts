/**
 * All codes of `CapacityError`. People look them up and scripts match them: a code keeps its meaning from version to version.
 * docs/reference/errors.md is made from them: node docs/codes.ts
 */
import type { Code } from './code.ts';

const CODES = {
  ALL_FAILED: {
    meaning: 'without the plugin: all virtual users of an Artillery worker failed',
    remedy: "see the failures' codes; set a lower limit with `ensure`",
  },
  SCENARIO_UNREADABLE: {
    meaning: '`socketio-capacity doctor` cannot read the scenario',
    remedy: 'the line below the message shows the cause',
  },
  ARTILLERY_MISSING: {
    meaning: '`socketio-capacity doctor`, `repeat`, `search` or `study` finds no Artillery beside the plugin',
    remedy: '`npm install artillery`',
  },
  CONFIG_INVALID: {
    meaning:
      "the flow, the options of engine or plugin, an environment variable, the server's environment or the options of `instrument` have mistakes, all of which are listed; or the broadcasts are larger than what the server accepts",
    remedy: 'correct the lines named',
  },
  RATE_IMPOSSIBLE: {
    meaning: 'the arrivals of a phase cannot be spread over whole seconds at about `RATE`',
    remedy: 'choose a `RATE` that divides the arrivals of every phase',
  },
  RESULTS_UNWRITABLE: {
    meaning: 'the folder for results, or a file in it, cannot be written, at the start or during a run',
    remedy: 'free space on its disk, or set `results` to a writable folder',
  },
  LIVE_PORT_TAKEN: {
    meaning: 'the live view cannot listen on its port',
    remedy: 'choose another port, or `CAPACITY_LIVE=1` for a free one',
  },
  NODE_TOO_OLD: {
    meaning: 'the Node that runs Artillery, or the command, is older than 22.18',
    remedy: 'install Node 24; in a checkout, `npx` and `npm run` use the one that `npm install` brought',
  },
  TOO_FEW_FILES: {
    meaning: 'the open-file limit is too low for any run',
    remedy: 'raise the limit: `ulimit -n 65536`',
  },
  BAD_OPTION: {
    meaning: 'invalid or missing options or conditions of a command; all are listed',
    remedy: "see the command's `--help`",
  },
  SCENARIO_UNWRITABLE: {
    meaning: '`init` cannot write the file, or it already exists',
    remedy: 'use `--out`, or `--force` to overwrite it',
  },
  EVENT_NOT_FOUND: {
    meaning: 'without a terminal: `init` was given no event, and found none that it can count',
    remedy: 'give `--emit`, `--publish` or `--listen`; or `--listen 0` to measure connections only',
  },
  RESULT_UNREADABLE: {
    meaning: 'there is no such file, or no `result.json` in the folder',
    remedy: 'name a `result.json` or the folder of a run',
  },
  RESULT_INVALID: {
    meaning:
      'the file is truncated, was edited, is not a result, or comes from an older version; the message names the keys',
    remedy: 'copy it again, or read it with the version that wrote it',
  },
  RESULT_TOO_NEW: {
    meaning: 'a newer version wrote the file; the message names the unknown keys',
    remedy: '`npm install` the latest version of both packages',
  },
  RESULT_UNSOUND: {
    meaning: "a run's figures violate the schema, which is a bug; the message names the keys",
    remedy: 'please report it with the file `result.unsound.json` that was saved',
  },
  REPORT_FAILED: {
    meaning: 'one of the files could not be written; the line below the message shows the cause',
    remedy: 'remove the cause, then recreate the files from `result.json`: `npx socketio-capacity report <run>`',
  },
  BASELINE_MISSING: {
    meaning: 'the file has no baseline of that name, or does not exist',
    remedy: '`npx socketio-capacity baseline save`',
  },
  BASELINE_INVALID: {
    meaning: 'the result to be saved is INVALID',
    remedy: 'measure again',
  },
  BASELINE_NOT_COMPARABLE: {
    meaning:
      'the result was measured with a different load or on different hardware; the message lists the differences',
    remedy: "measure under the baseline's conditions, or save a new baseline",
  },
  BASELINE_UNREADABLE: {
    meaning: 'the file is damaged, or is not a baseline file; the message names the keys',
    remedy: 'correct it, or remove it and save a new baseline',
  },
  BASELINE_UNWRITABLE: {
    meaning: 'the file cannot be written',
    remedy: 'choose another file with `--file`',
  },
  STUDY_INVALID: {
    meaning: "the study's file is missing or has mistakes; all are listed",
    remedy: 'correct the lines named',
  },
  STUDY_SERVER_FAILED: {
    meaning: "the study's command for a server ended, or did not answer in time; the message has the end of its log",
    remedy: 'correct what the log says, or `command` and `ready`',
  },
  SERIES_UNREADABLE: {
    meaning:
      'the `repeat.json`, `study.json` or `search.json` is damaged, is of another version, or none of its runs has a result',
    remedy: 'restore it, or start anew in another folder: `--results`',
  },
  SERIES_CHANGED: {
    meaning:
      'the earlier runs in the folder of a study or search are of another one: its file, scenario, environment or target is different; the message lists what changed',
    remedy: 'undo the change, or choose another folder: `--results`',
  },
  SERIES_RUNNING: {
    meaning: 'another process is making runs in that folder; the message names it',
    remedy: 'wait until it ends, or choose another folder: `--results`',
  },
  SHARE_IMPOSSIBLE: {
    meaning:
      'a phase cannot be divided among that many hosts; the message names the phase, and the fix the nearest numbers that are possible',
    remedy: 'number the hosts (`CAPACITY_HOST`), use another number of them, or change the rate',
  },
  JOIN_SECRET_INVALID: {
    meaning: 'the folder of `conduct --secret` lacks a file, or one of them is not what it should be',
    remedy: 'give the folder `token`, `tls.crt` and `tls.key`',
  },
  LAUNCH_FAILED: {
    meaning: 'the command after `conduct … --` ended before all hosts had come',
    remedy: 'see its output',
  },
  HOSTS_MISSING: {
    meaning: 'not all hosts came in time, or one was gone before the load; the message names them',
    remedy: 'start Artillery on every host; let every firewall between pass the port of the conductor',
  },
  HOSTS_DISAGREE: {
    meaning:
      'a host has another version, scenario, number of hosts or share than the run needs, or is one too many; the message names it',
    remedy: 'give all hosts the same version, scenario and variables, and `CAPACITY_HOSTS`',
  },
  JOIN_LINE_WRONG: {
    meaning: 'the certificate or the token of the conductor is not that of `CAPACITY_CONDUCTOR`',
    remedy: "set `CAPACITY_CONDUCTOR` to the line that this run's conductor has printed",
  },
  CONDUCTOR_UNREACHABLE: {
    meaning: 'a host could not connect to its conductor',
    remedy: 'start `conduct`; let every firewall between pass its port',
  },
  CONDUCTOR_LOST: {
    meaning: 'the conductor was away for too long, or goes on without this host, which ended its part of the load',
    remedy: 'see the output of the conductor',
  },
  TARGET_TOO_LARGE: {
    meaning:
      'the machine, or the stack that is up, cannot hold that many connections; the message names the highest number and the limit',
    remedy: 'the lines below the message show how to raise each limit: Doctor',
  },
  TARGET_UNREACHABLE: {
    meaning: 'no Socket.IO connection to the target; the message names the system error or HTTP status',
    remedy: 'start the server, or correct the URL or `path`. `http_502`: the proxy answers, but the workers do not',
  },
  JOIN_REFUSED: {
    meaning: 'the server lets nobody join that room by `join_room`; the message has its reason',
    remedy: "name the scenario's room in `rooms` of `instrument(io)`",
  },
  JOIN_TIMEOUT: {
    meaning: "the server did not acknowledge the probe's `join_room`",
    remedy: 'call `instrument(io)` in the server',
  },
  UNEXPECTED: {
    meaning: 'something before the load failed for a reason that has no code of its own',
    remedy: 'report it, with the lines above the message and the scenario',
  },
  CONTROL_MISSING: {
    meaning:
      'the address has no control namespace; or no control port is known, and an external engine drives the load, whose connections only the workers can count',
    remedy: 'call `instrument(io)` and name its ports: Your own server',
  },
  WORKERS_NOT_FOUND: {
    meaning: '`pids`, `match` or `cgroup` of `workers`, or of one of `layers`, finds no process on this machine',
    remedy:
      'the message names what was looked for: `ps -eo pid,args` lists processes, `cat /proc/<pid>/cgroup` names the group of one',
  },
  FAULT_IMPOSSIBLE: {
    meaning: 'the deployment has not got what the planned fault (`fault.kind`) is to hit',
    remedy: 'for a server of your own, write the `command` that does it, or take `drop-connections`',
  },
  METRICS_UNREACHABLE: {
    meaning: 'nothing answers at a URL of an option `prometheus`, or not with metrics',
    remedy: "correct the URL; `curl` it from the generator's machine",
  },
  METRICS_MISSING: {
    meaning:
      'a page of metrics has no memory of a process, container or host with the labels of its option, several groups of processes, or a CPU time that cannot be; the message names what it has',
    remedy:
      'export default metrics (prom-client: `collectDefaultMetrics()`), run process-exporter beside other programs, or correct the labels',
  },
  CONTROL_REPEATED: {
    meaning: 'two control addresses lead to one process, or two workers have the same name',
    remedy: 'give the control address of every worker, and each once; give each worker its own name',
  },
  CONTROL_INCOMPLETE: {
    meaning: "the deployment's adapter counts more servers than the run controls",
    remedy: 'name the control address of every worker in `control.urls`',
  },
  CONTROL_UNREACHABLE: {
    meaning: 'a control port cannot be reached',
    remedy:
      'start the server, let it listen on an address that the generator reaches (`controlHost`), or correct `control.urls`',
  },
  CONTROL_TIMEOUT: {
    meaning: 'a worker did not answer a request in time',
    remedy: 'its event loop is blocked or it is out of memory: see its log',
  },
  BAD_TOKEN: {
    meaning: 'a worker refused the control token',
    remedy: 'give the server and the run the same token',
  },
  DELIVERY_PATH_UNMATCHED: {
    meaning:
      'the event of `delivery` arrives, and at the path of its id or time stands nothing, or no string or number; the message shows what did arrive',
    remedy: 'correct the path',
  },
  DELIVERY_ID_NOT_SHARED: {
    meaning:
      'the event of `delivery` arrives at several connections, and no two of them get the same id; the message shows some',
    remedy: 'name the place of an id that all copies of a broadcast have, or count an event that goes to everybody',
  },
  DELIVERY_ID_REPLACED: {
    meaning:
      'the event of `delivery` arrives, but never with the id that a publisher sent; the message shows what did arrive',
    remedy: 'name the place where the server passes it on, or leave `$id` out of `publish.emit`',
  },
  HTTP_MISSING: {
    meaning: "the flow has HTTP steps, and Artillery's HTTP engine cannot be loaded",
    remedy: 'install artillery 2.0.34, or use function steps with `fetch()`',
  },
  ENGINE_START: {
    meaning: "the generator's processes did not start",
    remedy: 'see the lines above the message',
  },
  ENGINE_MISSING: {
    meaning: 'Artillery finds no engine of ours, or none became ready',
    remedy: 'install the plugin beside Artillery, which brings its engine; the lines above the message may say more',
  },
  VERSIONS_DIFFER: {
    meaning: 'the engine that Artillery loads is of another build than the plugin; the message names both',
    remedy: 'install both from one release, or from one checkout',
  },
  NGINX_MISSING: {
    meaning: 'nginx is not installed',
    remedy: '`npm run setup`, or `PROFILE=embedded`',
  },
  REDIS_MISSING: {
    meaning: 'redis-server is not installed',
    remedy: '`npm run setup`, `REDIS_URL`, or `PROFILE=embedded`',
  },
  PM2_MISSING: {
    meaning: 'pm2 is not installed beside the plugin',
    remedy: '`npm install pm2`',
  },
  NGINX_FAILED: {
    meaning: 'nginx refuses its configuration, or did not start',
    remedy: "the message contains nginx's output",
  },
  REDIS_FAILED: {
    meaning:
      'redis-server did not start, its nodes did not become a cluster, or the server at `REDIS_URL` does not answer',
    remedy: 'correct or unset `REDIS_URL`',
  },
  PM2_FAILED: {
    meaning: 'a PM2 command failed',
    remedy: "the message contains PM2's output",
  },
  WORKER_FAILED: {
    meaning: 'a worker did not become healthy',
    remedy: 'the message contains the end of its log',
  },
  PORT_TAKEN: {
    meaning: "another program listens on the port; on a target's port, one that is not a Socket.IO server",
    remedy: 'stop it, or choose another port',
  },
  NO_FREE_PORT: {
    meaning: 'no free ports between 12,000 and 32,000',
    remedy: 'stop the processes that listen there',
  },
  TOO_MANY_CONNECTIONS: {
    meaning: "the open-file limit of the embedded profile's single worker is too low for that many connections",
    remedy: 'raise the limit (`ulimit -Hn`), or use the full profile',
  },
  STACK_RUNNING: {
    meaning: 'a stack is already up or starting',
    remedy: 'use it, or `npx socketio-capacity stack down`',
  },
  STACK_BUSY: {
    meaning: 'the stack is starting or stopping',
    remedy: 'try again in a few seconds',
  },
  STACK_TLS: {
    meaning: 'the stack that is up speaks TLS and the run does not, or the other way round',
    remedy: 'take it down (`npx socketio-capacity stack down`), or set `TLS=on` for both',
  },
  STACK_REDIS: {
    meaning: 'the stack that is up has another number of Redis nodes than `REDIS_NODES` asks for',
    remedy: 'take it down (`npx socketio-capacity stack down`), or leave `REDIS_NODES` out',
  },
  STACK_IN_USE: {
    meaning: 'another run is using the stack that it started',
    remedy: 'wait until it ends, or keep a stack up for several runs: `npx socketio-capacity stack up`',
  },
  STACK_STUCK: {
    meaning: 'processes of the stack do not end',
    remedy: 'the message lists the processes to kill',
  },
  STACK_FAILED: {
    meaning: 'the stack did not start, for an unexpected reason',
    remedy: 'please report it',
  },
  STATE_DIR_UNSAFE: {
    meaning: 'the state folder belongs to another user, is a symbolic link, or is writable for others',
    remedy: 'remove it, or set `SOCKETIO_CAPACITY_HOME` to a folder of your own',
  },
  STATE_DIR_UNWRITABLE: {
    meaning: 'the state folder cannot be created or written to',
    remedy: 'free space on its disk, or set `SOCKETIO_CAPACITY_HOME` to a folder that you can write to',
  },
  STATE_DIR_TOO_LONG: {
    meaning: "the path of the state folder is too long for PM2's sockets",
    remedy: 'set `SOCKETIO_CAPACITY_HOME` to a shorter path',
  },
  NODE_MISSING: {
    meaning: 'the Node of `SERVER_NODE` is not installed; the message says how to get it',
    remedy: 'run the command in the message, or correct the path',
  },
  PACKAGE_MISSING: {
    meaning:
      'the package that the chosen WebSocket server needs is not installed, or not for the Node of the workers; the message says how to install it',
    remedy: 'run the command in the message, and name the folder in `CAPACITY_MODULES`',
  },
  REDIS_UNREACHABLE: {
    meaning: 'the worker cannot connect to Redis',
    remedy: 'start it, correct `REDIS_URL`, or choose `CAPACITY_ADAPTER=in-memory`',
  },
  REDIS_REFUSES: {
    meaning: 'Redis refuses a subscription of the adapter, usually because it is older than 7.0',
    remedy: 'for the sharded adapters, Redis 7.0 or newer; with an older one, `CAPACITY_ADAPTER=redis`',
  },
  LISTEN_FAILED: {
    meaning: 'the worker, or the conductor of several hosts, cannot listen on its address',
    remedy: 'choose an address of this machine and a port that this user may listen on',
  },
  NOT_ATTACHED: {
    meaning: '`instrument(io)` was called before Socket.IO had an HTTP server',
    remedy: 'call it after `new Server(httpServer)`, `io.attach()` or `io.listen()`',
  },
  MEMBERS_UNKNOWN: {
    meaning: 'the members of a room could not be counted on all workers, so nothing was sent',
    remedy: "make sure that all workers run, are instrumented, and reach the adapter's server",
  },
  UNKNOWN_REQUEST: {
    meaning: 'the control namespace does not know this request',
    remedy: 'use the same version on both sides',
  },
  BAD_REQUEST: {
    meaning: 'a control request has invalid arguments',
    remedy: 'the message lists them',
  },
  REQUEST_FAILED: {
    meaning: 'a control request failed',
    remedy: "see the worker's log",
  },
  USAGE: {
    meaning: 'invalid options for a bench',
    remedy: 'the line below the message lists them',
  },
  LINUX_ONLY: {
    meaning: 'the benches read `/proc`, and one of their clients uses epoll',
    remedy: 'run them on Linux',
  },
  NOT_BY_NPM: {
    meaning: 'a bench was not started through its npm script, which its report names',
    remedy: 'start it with `npm run bench:client` or `npm run bench:server`',
  },
} satisfies Record<string, Code>;

export type ErrorCode = keyof typeof CODES;

export const ERROR_CODES: Record<ErrorCode, Code> = CODES;
