/**
 * Every code that a `CapacityError` may carry, with the cause that docs/reference/errors.md gives for it. People look
 * them up and scripts match them: a code keeps its meaning from version to version.
 */
export const ERROR_CODES = {
  // Settings
  SCRIPT: "the flow or the engine's options have mistakes; all are listed",
  SCENARIO_UNREADABLE: '`socketio-capacity doctor` cannot read the scenario',
  CONFIG_INVALID:
    "the plugin's options, an environment variable, the server's environment or the options of `instrument` have mistakes; all are listed",
  RATE_IMPOSSIBLE: 'the arrivals of a phase cannot be spread over whole seconds at about `RATE`',
  RESULTS_UNWRITABLE: 'the folder of the results, or a file in it, cannot be written, also in the middle of a run',
  LIVE_PORT_TAKEN: 'the live view cannot listen on its port',
  TOO_FEW_FILES: 'a process may open fewer files than any run needs',
  BAD_OPTION: 'wrong options of `stack up` or `init`; all are listed',
  SCENARIO_UNWRITABLE: '`init` cannot write the file, or it is there already',

  // Reading a result
  RESULT_UNREADABLE: 'there is no such file, or no `result.json` in the folder',
  RESULT_INVALID: 'the file is truncated, edited, of another kind, or by an older version; the keys are named',
  RESULT_TOO_NEW: 'a newer version wrote the file; the keys that are not known are named',
  RESULT_UNSOUND: "a run's own figures break the schema, which is a bug; the keys are named",
  REPORT_FAILED: 'one of the files could not be made; the cause stands below the message',

  // Baselines and series
  BASELINE_MISSING: 'the file has no baseline of that name, or is not there',
  BASELINE_INVALID: 'an INVALID result was to be saved',
  BASELINE_NOT_COMPARABLE:
    'the result was measured with another load or on other hardware; the message lists what differs',
  BASELINE_UNREADABLE: 'the file is damaged, or of another kind; the message names the keys',
  BASELINE_UNWRITABLE: 'the file cannot be written',
  REPEAT_UNREADABLE: 'a `repeat.json` is damaged, or none of its runs left a result',

  // Target
  TARGET_TOO_LARGE:
    'the machine, or the stack that is up, cannot hold that many connections; the message names the highest number and the limit that sets it',
  TARGET_UNREACHABLE: "no Socket.IO connection to the target; the message names the system's or HTTP's reason",
  JOIN_TIMEOUT: "the server did not acknowledge the probe's `join_room`",
  CONTROL_MISSING: 'nothing is known of the workers behind the target, or the address has no control namespace',
  CONTROL_UNREACHABLE: 'a control port cannot be reached',
  CONTROL_TIMEOUT: 'a worker did not answer an order in time',
  BAD_TOKEN: 'a worker refused the control token',
  ENGINE_START: "the generator's processes did not start",
  ENGINE_MISSING: 'no engine got ready',

  // Stack
  NGINX_MISSING: 'nginx is not installed',
  REDIS_MISSING: 'redis-server is not installed',
  NGINX_FAILED: 'nginx refuses its configuration, or did not start',
  REDIS_FAILED: 'redis-server did not start, or the one of `REDIS_URL` does not answer',
  PM2_FAILED: 'a PM2 command failed',
  WORKER_FAILED: 'a worker did not become healthy',
  PORT_TAKEN: 'something else listens on the port; for a target: something that is no Socket.IO server',
  NO_FREE_PORT: 'no free ports between 12,000 and 32,000',
  TOO_MANY_CONNECTIONS: "the embedded profile's single worker may not open that many files",
  STACK_RUNNING: 'a stack is up or starting already',
  STACK_BUSY: 'the stack is starting or stopping',
  STACK_IN_USE: 'another run is measuring on the stack that it started',
  STACK_STUCK: 'processes of the stack do not end',
  STACK_FAILED: 'the stack did not start, for an unexpected reason',
  STATE_DIR_UNSAFE: "the state folder is another user's, or a symbolic link, or others can write to it",
  STATE_DIR_UNWRITABLE: 'the state folder cannot be made or written to',
  STATE_DIR_TOO_LONG: "its path is too long for PM2's sockets",

  // Server
  REDIS_UNREACHABLE: 'the worker cannot connect to Redis',
  LISTEN_FAILED: 'the worker cannot listen on its address',
  NOT_ATTACHED: '`instrument(io)` came before the server had an HTTP server',
  MEMBERS_UNKNOWN: 'the members of a room could not be counted on all workers; nothing was sent',
  UNKNOWN_REQUEST: 'the control namespace knows no such request',
  BAD_REQUEST: 'a control request has wrong arguments',
  REQUEST_FAILED: 'a control request failed',

  // Benches
  USAGE: 'wrong options of a bench',
  LINUX_ONLY: 'the benches read `/proc`, and one of their clients uses epoll',
  NOT_BY_NPM: 'a bench was not started by its npm script, which its report names',
} as const;

export type ErrorCode = keyof typeof ERROR_CODES;
