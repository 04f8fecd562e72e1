/** Names of other engines and clients, and names that people guess: what to write instead, or that there is no equivalent. */
import type { Problem } from '../../../protocol/base/problems.ts';
import { ENGINE } from '../script.ts';
import { connectionShape } from './connect-options.ts';

const ENGINE_OPTIONS = `config.engines.${ENGINE}`;
const FOR_ALL = `the same for all connections: write it in ${ENGINE_OPTIONS}`;
const HTTP_ONLY = 'remove it: only HTTP requests have it';
const IN_TARGET = 'write it in config.target';
const OWN_CONNECTION = 'remove it: every virtual user has its own connection anyway';
const NOTHING = 'remove it: there is no equivalent';
const PEM = 'write `cert` and `key` into `tls`, as PEM without a passphrase';
const WAIT = 'write waitFor: {event: <event>}, or response: {on: <event>} beside the emit that it answers';
const THINK = 'write think: <seconds>';
const EMIT = 'write emit: [<event>, <data>]';
const CONNECT = 'write connect: true, connect: <namespace> or connect: {auth: …}, or nothing: the first emit connects';
const CLOSE = 'write disconnect: true';
const STAY = 'write hold: true';
const LOOP = 'write loop: [<steps>] with count: <number>; or every: {seconds: …, emit: [<event>, <data>]}';
const CALL = 'write function: <name>, a function of config.processor';
const CONDITION = 'no step has conditions: write loop: [<steps>] with over: <variable>, a list that can be empty';
const CHECK = 'write match: {json: $.0.ok, value: true} in `acknowledge`, `response` or `waitFor`';
const EMITTED = 'write `channel` instead: emit: {channel: <event>, data: …}';
const DATA = 'write data: <argument>; or all in one list: emit: [<event>, <argument>, …]';
const AUTH = 'write it in `auth`: auth: {<key>: …}';
const OF_SCENARIO = 'nothing reads it: write it in `socketio` of the scenario';
const OF_CONFIG = 'nothing reads it in a scenario: write it in `config`';
const OF_ALL = `nothing reads it: write it in ${ENGINE_OPTIONS}, for the connections`;

/** Longer values are not quoted. */
const MAX_VALUE_LENGTH = 60;

/** Assigns one hint to several names. */
const all = (hint: string, ...names: string[]) => Object.fromEntries(names.map((name) => [name, hint]));
/** Limits hints to names in one key. */
const inside = (key: string, hints: Record<string, string>) =>
  Object.fromEntries(Object.entries(hints).map(([name, hint]) => [`${key}.${name}`, hint]));
const insideAll = (keys: string[], hints: Record<string, string>): Record<string, string> =>
  Object.assign({}, ...keys.map((key) => inside(key, hints)));

/** Hints by name, or by the key that it is in and its name. The key is `step` for the verb of a step and what is beside it. */
const TABLE: Record<string, string> = {
  ...inside('step', {
    ...all(WAIT, 'on', 'once', 'listen', 'listener', 'receive', 'expect', 'expectEvent', 'waitForEvent', 'waitUntil'),
    ...all(WAIT, 'subscribeTo', 'addListener', 'recv', 'await', 'waitForResponse'),
    ...all(THINK, 'wait', 'sleep', 'pause', 'delay', 'thinkTime', 'timer', 'idle'),
    ...all(EMIT, 'send', 'message', 'publish', 'broadcast', 'request', 'event', 'emitWithAck', 'socketEmit'),
    ...all(EMIT, 'join', 'joinRoom', 'join_room', 'leave', 'leaveRoom', 'subscribe', 'unsubscribe', 'room'),
    ...all(CONNECT, 'socketio', 'socket', 'open', 'namespace', 'url', 'login', 'auth', 'authenticate'),
    ...all(CLOSE, 'close', 'end', 'exit', 'quit', 'logout', 'disconnectAfter'),
    ...all(STAY, 'stay', 'keep', 'keepAlive', 'keepOpen', 'holdOpen', 'forever'),
    ...all(LOOP, 'repeat', 'for', 'forEach', 'while', 'count', 'interval', 'times', 'setInterval'),
    ...all(
      CALL,
      'call',
      'run',
      'exec',
      'execute',
      'script',
      'code',
      'fn',
      'set',
      'setVariable',
      'variables',
      'processor',
    ),
    ...all(CONDITION, 'if', 'when', 'switch', 'else', 'then'),
    ...all('write log: <text>', 'print', 'console', 'debug', 'echo'),
    ...all(CHECK, 'check', 'assert', 'match', 'verify', 'validate'),
    capture: 'write it in `response`, `acknowledge` or `waitFor`: capture: {json: $.0.id, as: id}',
    ...all('write acknowledge: true', 'ack', 'callback', 'withAck', 'ackRequired', 'expectAck'),
    ...all('write it in `emit`: emit: [<event>, <data>]', 'data', 'args', 'payload', 'channel'),
    http: 'write the method: get: {url: /path}, or post: {url: /path, json: {…}}',
  }),
  ...inside('emit', {
    ...all(EMITTED, 'event', 'name', 'eventName', 'type', 'topic', 'message'),
    ...all(DATA, 'args', 'arguments', 'payload', 'body', 'json', 'params', 'value', 'content'),
    ...all(LOOP, 'count', 'repeat', 'times', 'interval', 'every'),
    ...all('write acknowledge: true beside `emit`', 'ack', 'callback', 'withAck'),
    ...all(
      'write acknowledge: {match: {json: $.0.ok, value: true}} beside `emit`',
      'check',
      'expect',
      'match',
      'assert',
    ),
    ...all('the server puts clients into rooms: emit the event to which it does', 'room', 'to'),
  }),
  ...insideAll(['acknowledge', 'response', 'waitFor'], {
    ...all('write match: {json: $.0.ok, value: true}', 'check', 'expect', 'assert', 'validate', 'verify', 'equals'),
    ...all('write capture: {json: $.0.id, as: id}', 'save', 'store', 'as', 'extract', 'set'),
    ...all('write it as a step of its own after this one: function: <name>', 'function', 'handler', 'callback', 'fn'),
  }),
  ...inside('waitFor', { ...all('write event: <event>', 'on', 'name', 'channel', 'eventName') }),
  ...inside('response', { ...all('write on: <event>', 'event', 'name', 'eventName') }),
  ...inside('every', { ...all('write seconds: <number>', 'interval', 'period', 'time', 'duration', 'rate', 'every') }),
  ...insideAll(['connect', 'socketio', ENGINE], {
    ...all(IN_TARGET, 'url', 'uri', 'target', 'server', 'address'),
    ...all(AUTH, 'token', 'jwt', 'accessToken', 'apiKey', 'username', 'user', 'userId', 'password'),
    ...all('write `headers`', 'cookie', 'cookies', 'authorization'),
    ...all('write `query`', 'params', 'queryParams'),
  }),
  ...inside('scenario', {
    ...all(
      OF_SCENARIO,
      ...Object.keys(connectionShape),
      'context',
      'cookie',
      'options',
      'connect',
      'token',
      'namespace',
    ),
    ...all(OF_CONFIG, 'payload', 'variables', 'phases', 'target', 'processor', 'plugins', 'engines', 'environments'),
    ...all(OF_CONFIG, 'ensure', 'tls', 'timeout', 'defaults'),
    ...all('write `flow`', 'steps', 'flows', 'step', 'actions'),
    ...all('no scenario repeats: write `loop` in its flow', 'count', 'loop', 'repeat'),
    ...all('write it as a step of the flow', 'think', 'emit', 'hold', 'function'),
  }),
  ...inside('config', {
    ...all(OF_ALL, ...Object.keys(connectionShape), 'namespace', 'context'),
    url: 'write target',
    ...all('write them at the top of the file, not in `config`', 'scenarios', 'before', 'after'),
    ...all('write phases: [{duration: …, arrivalRate: …}]', 'duration', 'arrivalRate', 'arrivalCount', 'connections'),
  }),
  ...inside('template', {
    ...all('write {{ $randomNumber(1, 1000) }}', '$randomInt', '$randomNumber', '$random', '$randomInteger', '$number'),
    ...all('write {{ $randomString(10) }}', '$randomString', '$randomAlphaNumeric', '$randomWord', '$string'),
    ...all('write {{ $uuid }}', '$guid', '$randomUUID', 'uuid', 'guid', '$id', '$userId', '$vuId', '$vu', '__VU'),
    ...all('write a function that sets it', '$timestamp', '$isoTimestamp', '$now', '$date', 'timestamp', 'now'),
    ...all('write {{ $loopCount }}', '$index', 'index', '$iteration', '__ITER', '$loopIndex', 'i'),
    ...all('write {{ $loopElement }}', '$item', 'item', '$element', '$value'),
    ...all('write {{ $env.NAME }}', 'env', 'process', '$process', 'ENV'),
  }),
  ifTrue: 'only HTTP requests have conditions; a `loop` that goes `over` an empty list does nothing',
  ...all(HTTP_ONLY, 'probability', 'afterResponse', 'onError', 'expect'),
  name: 'remove it: only phases and scenarios have names',
  ...all(FOR_ALL, 'reconnection', 'retry', 'compression', 'parser', 'tls'),
  'socketio.timeout': `write connectTimeout in ${ENGINE_OPTIONS}`,
  requestTimeout: `write connectTimeout in ${ENGINE_OPTIONS}`,
  reconnectionAttempts: 'write reconnection: {attempts: …}',
  reconnectionDelay: 'write reconnection: {delay: <seconds>}',
  reconnectionDelayMax: 'write reconnection: {maxDelay: <seconds>}',
  randomizationFactor: 'write reconnection: {jitter: …}',
  ...Object.fromEntries(
    ['rejectUnauthorized', 'ca', 'cert', 'key'].map((name) => [name, `write tls: {${name}: …} in ${ENGINE_OPTIONS}`]),
  ),
  ...all(PEM, 'pfx', 'passphrase'),
  ...all(IN_TARGET, 'host', 'hostname', 'port', 'secure'),
  ackTimeout: 'write timeout: <seconds>',
  perMessageDeflate: 'write compression: true',
  leaveRate: 'write disconnectRate',
  upgrade: 'write transports: [polling], or [polling, websocket]',
  transportOptions: 'write `extraHeaders` without it',
  withCredentials: 'remove it: cookies of HTTP steps go with the handshake anyway',
  retries: 'remove it: an event is sent once, and what is lost is counted',
  ...all(OWN_CONNECTION, 'forceNew', 'multiplex', 'autoConnect'),
  ...all(NOTHING, 'agent', 'ciphers', 'protocols', 'forceBase64', 'timestampParam'),
  ...all(NOTHING, 'timestampRequests', 'transportImplementations', 'tryAllTransports', 'rememberUpgrade'),
  ...all(NOTHING, 'closeOnBeforeunload', 'useNativeTimers', 'autoUnref'),
};

const HINTS = new Map(Object.entries(TABLE));

/** @param within key that the name is in: `step`, `emit`, `scenario`, `config`, `template`, … */
export function hintFor(name: string, within: string): string | undefined {
  return HINTS.get(`${within}.${name}`);
}

/** Adds hints to the problems of unknown options. */
export function withHints(problems: Problem[]): Problem[] {
  return problems.map((problem) => {
    const [name = '', parent = ''] = problem.path.split('.').reverse();
    const within = /^(flow|loop|parallel)\[/.test(parent) ? 'step' : parent.replace(/\[.*/, '');
    const hint = hintFor(name, within) ?? HINTS.get(name);
    return hint && problem.isUnknownKey
      ? { ...problem, message: `unknown option: ${hint.replace('<key>', name)}` }
      : problem;
  });
}

/** Returns the hint with the event, the time, the data or the name in the user's own step, where it has them. */
export function filledHint(hint: string, value: unknown): string {
  const fields = Object(value) as Record<string, unknown>;
  const [first, ...others] = Array.isArray(value) ? value : [];
  const scalar = typeof value === 'object' ? first : value;
  const found: Record<string, unknown> = {
    event: fields.event ?? fields.channel ?? fields.name ?? scalar,
    seconds: fields.seconds ?? fields.duration ?? scalar,
    data: fields.data ?? fields.args ?? fields.payload ?? others[0],
    name: fields.function ?? scalar,
    text: scalar,
    namespace: fields.namespace,
  };
  return hint.replace(/<(\w+)>/g, (placeholder, key: string) => {
    const given = JSON.stringify(found[key]);
    return given === undefined || given.length > MAX_VALUE_LENGTH ? placeholder : given;
  });
}
