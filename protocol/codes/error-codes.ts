/**
 * All codes of `CapacityError`, with the causes that docs/reference/errors.md gives for them. People look them up and
 * scripts match them: a code keeps its meaning from version to version.
 */
export const ERROR_CODES = {
  // Settings
  SCRIPT: "the flow or the engine's options have mistakes; all are listed",
  ALL_FAILED: 'without the plugin: all virtual users of an Artillery worker failed',
  SCENARIO_UNREADABLE: '`socketio-capacity doctor` cannot read the scenario',
  ARTILLERY_MISSING: '`socketio-capacity doctor`, `repeat`, `search` or `study` finds no Artillery beside the plugin',
  CONFIG_INVALID:
    "the plugin's options, an environment variable, the server's environment or the options of `instrument` have mistakes, all of which are listed; or the broadcasts are larger than what the server accepts",
  RATE_IMPOSSIBLE: 'the arrivals of a phase cannot be spread over whole seconds at about `RATE`',
  RESULTS_UNWRITABLE: 'the folder for results, or a file in it, cannot be written, at the start or during a run',
  LIVE_PORT_TAKEN: 'the live view cannot listen on its port',
  NODE_TOO_OLD: 'the Node that runs Artillery, or the command, is older than 22.18',
  TOO_FEW_FILES: 'the open-file limit is too low for any run',
  BAD_OPTION: 'invalid or missing options for `stack up` or `init`, or wrong conditions for `check`; all are listed',
  SCENARIO_UNWRITABLE: '`init` cannot write the file, or it already exists',
  EVENT_NOT_FOUND: 'without a terminal: `init` was given no event, and found none that it can count',

  // Reading a result
  RESULT_UNREADABLE: 'there is no such file, or no `result.json` in the folder',
  RESULT_INVALID:
    'the file is truncated, was edited, is not a result, or comes from an older version; the message names the keys',
  RESULT_TOO_NEW: 'a newer version wrote the file; the message names the unknown keys',
  RESULT_UNSOUND: "a run's figures violate the schema, which is a bug; the message names the keys",
  REPORT_FAILED: 'one of the files could not be written; the line below the message shows the cause',

  // Baselines and series
  BASELINE_MISSING: 'the file has no baseline of that name, or does not exist',
  BASELINE_INVALID: 'the result to be saved is INVALID',
  BASELINE_NOT_COMPARABLE:
    'the result was measured with a different load or on different hardware; the message lists the differences',
  BASELINE_UNREADABLE: 'the file is damaged, or is not a baseline file; the message names the keys',
  BASELINE_UNWRITABLE: 'the file cannot be written',
  REPEAT_UNREADABLE: 'the `repeat.json` is damaged, or none of its runs has a result',

  // Studies
  STUDY_INVALID: "the study's file is missing or has mistakes; all are listed",
  STUDY_CHANGED:
    'the study, or its scenario, is not the one that the earlier runs in its folder belong to; the message lists what changed',
  STUDY_RUNNING: 'another process is working on the study in that folder; the message names it',
  STUDY_SERVER_FAILED:
    "the study's command for a server ended, or did not answer in time; the message has the end of its log",
  STUDY_UNREADABLE: 'the `study.json` of a study to be resumed is damaged',

  // Searches
  SEARCH_INVALID:
    'an option of `search` is wrong, or what it names cannot vary in the scenario; all mistakes are listed',
  SEARCH_CHANGED:
    'the scenario, its environment or its target is not what the earlier runs in the folder of the search belong to',
  SEARCH_UNREADABLE: 'the `search.json` of a search to be resumed is damaged',

  // Several hosts
  SHARE_IMPOSSIBLE:
    'a phase cannot be divided among that many hosts; the message names the phase, and the fix the nearest numbers that are possible',
  JOIN_SECRET_INVALID: 'the folder of `conduct --secret` lacks a file, or one of them is not what it should be',
  LAUNCH_FAILED: 'the command after `conduct … --` ended before all hosts had come',
  HOSTS_MISSING: 'not all hosts came in time, or one was gone before the load; the message names them',
  HOSTS_DISAGREE:
    'a host has another version, scenario, number of hosts or share than the run needs, or is one too many; the message names it',
  JOIN_LINE_WRONG: 'the certificate or the token of the conductor is not that of `CAPACITY_CONDUCTOR`',
  CONDUCTOR_UNREACHABLE: 'a host could not connect to its conductor',
  CONDUCTOR_LOST: 'the conductor was away for too long, or goes on without this host, which ended its part of the load',

  // Target
  TARGET_TOO_LARGE:
    'the machine, or the stack that is up, cannot hold that many connections; the message names the highest number and the limit',
  TARGET_UNREACHABLE: 'no Socket.IO connection to the target; the message names the system error or HTTP status',
  JOIN_REFUSED: 'the server lets nobody join that room by `join_room`; the message has its reason',
  JOIN_TIMEOUT: "the server did not acknowledge the probe's `join_room`",
  UNEXPECTED: 'something before the load failed for a reason that has no code of its own',
  CONTROL_MISSING:
    'the address has no control namespace; or no control port is known, and an external engine drives the load, whose connections only the workers can count',
  WORKERS_NOT_FOUND: '`workers.pids`, `workers.match` or `workers.cgroup` finds no process on this machine',
  FAULT_IMPOSSIBLE: 'the deployment has not got what the planned fault (`fault.kind`) is to hit',
  METRICS_UNREACHABLE: 'nothing answers at a URL of `workers.prometheus`, or not with metrics',
  METRICS_MISSING:
    'the metrics have no memory of a process or container with the labels of `workers.prometheus`; the message names what they have',
  CONTROL_REPEATED: 'two control addresses lead to one process, or two workers have the same name',
  CONTROL_INCOMPLETE: "the deployment's adapter counts more servers than the run controls",
  CONTROL_UNREACHABLE: 'a control port cannot be reached',
  CONTROL_TIMEOUT: 'a worker did not answer a request in time',
  BAD_TOKEN: 'a worker refused the control token',
  OBSERVER_UNREACHABLE: 'an observer that `observers` names cannot be reached',
  OBSERVER_WRONG: 'something else answers at the address of an observer, or it observes another layer',
  LAYER_NOT_FOUND: '`observe` finds no process of the layer on its host',
  DELIVERY_PATH_UNMATCHED:
    'the event of `delivery` arrives, and at the path of its id or time stands nothing, or no string or number; the message shows what did arrive',
  DELIVERY_ID_NOT_SHARED:
    'the event of `delivery` arrives at several connections, and no two of them get the same id; the message shows some',
  DELIVERY_ID_REPLACED:
    'the event of `delivery` arrives, but never with the id that a publisher sent; the message shows what did arrive',
  HTTP_MISSING: "the flow has HTTP steps, and Artillery's HTTP engine cannot be loaded",
  ENGINE_START: "the generator's processes did not start",
  ENGINE_MISSING: 'no engine became ready',

  // Stack
  NGINX_MISSING: 'nginx is not installed',
  REDIS_MISSING: 'redis-server is not installed',
  PM2_MISSING: 'pm2 is not installed beside the plugin',
  NGINX_FAILED: 'nginx refuses its configuration, or did not start',
  REDIS_FAILED:
    'redis-server did not start, its nodes did not become a cluster, or the server at `REDIS_URL` does not answer',
  PM2_FAILED: 'a PM2 command failed',
  WORKER_FAILED: 'a worker did not become healthy',
  PORT_TAKEN: "another program listens on the port; on a target's port, one that is not a Socket.IO server",
  NO_FREE_PORT: 'no free ports between 12,000 and 32,000',
  TOO_MANY_CONNECTIONS:
    "the open-file limit of the embedded profile's single worker is too low for that many connections",
  STACK_RUNNING: 'a stack is already up or starting',
  STACK_BUSY: 'the stack is starting or stopping',
  STACK_TLS: 'the stack that is up speaks TLS and the run does not, or the other way round',
  STACK_REDIS: 'the stack that is up has another number of Redis nodes than `REDIS_NODES` asks for',
  STACK_IN_USE: 'another run is using the stack that it started',
  STACK_STUCK: 'processes of the stack do not end',
  STACK_FAILED: 'the stack did not start, for an unexpected reason',
  STATE_DIR_UNSAFE: 'the state folder belongs to another user, is a symbolic link, or is writable for others',
  STATE_DIR_UNWRITABLE: 'the state folder cannot be created or written to',
  STATE_DIR_TOO_LONG: "the path of the state folder is too long for PM2's sockets",

  // Server
  NODE_MISSING: 'the Node of `SERVER_NODE` is not installed; the message says how to get it',
  PACKAGE_MISSING:
    'the package that the chosen WebSocket server needs is not installed, or not for the Node of the workers; the message says how to install it',
  REDIS_UNREACHABLE: 'the worker cannot connect to Redis',
  REDIS_REFUSES: 'Redis refuses a subscription of the adapter, usually because it is older than 7.0',
  LISTEN_FAILED: 'the worker, or the conductor of several hosts, cannot listen on its address',
  NOT_ATTACHED: '`instrument(io)` was called before Socket.IO had an HTTP server',
  MEMBERS_UNKNOWN: 'the members of a room could not be counted on all workers, so nothing was sent',
  UNKNOWN_REQUEST: 'the control namespace does not know this request',
  BAD_REQUEST: 'a control request has invalid arguments',
  REQUEST_FAILED: 'a control request failed',

  // Benches
  USAGE: 'invalid options for a bench',
  LINUX_ONLY: 'the benches read `/proc`, and one of their clients uses epoll',
  NOT_BY_NPM: 'a bench was not started through its npm script, which its report names',
} as const;

export type ErrorCode = keyof typeof ERROR_CODES;
