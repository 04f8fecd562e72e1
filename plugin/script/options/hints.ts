/**
 * Hints for unknown names, such as names of other engines and clients. A hint suggests a replacement for the name, or
 * states that there is no equivalent.
 */
import type { Problem, Rewrite } from '../../../protocol/base/problems.ts';
import { ENGINE } from '../script.ts';
import { connectionShape } from './connect-options.ts';
import {
  asArgument,
  asList,
  beside,
  connected,
  ENGINE_PATH,
  everywhere,
  filled,
  type Hint,
  inside,
  intoAnswer,
  looped,
  milliseconds,
  movedTo,
  removed,
  renamed,
  spread,
  step,
  text,
} from './rewrites.ts';

const ENGINE_OPTIONS = `config.engines.${ENGINE}`;
const FOR_ALL = everywhere(`the same for all connections: write it in ${ENGINE_OPTIONS}`);
const HTTP_ONLY = removed('remove it: only HTTP requests have it');
const IN_TARGET = removed('write it in config.target');
const OWN_CONNECTION = removed('remove it: every virtual user has its own connection anyway');
const NOTHING = removed('remove it: there is no equivalent');
const PEM = text('write `cert` and `key` into `tls`, as PEM without a passphrase');
const WAIT = step({ waitFor: { event: '<event>' } }, ', or response: {on: <event>} beside the emit that it answers');
const THINK = step({ think: '<seconds>' });
const EMIT = step({ emit: ['<event>', '<data>'] });
const CONNECT = {
  text: 'write connect: true, connect: <namespace> or connect: {auth: …}, or nothing: the first emit connects',
  rewrite: connected,
};
const CLOSE = step({ disconnect: true });
const STAY = step({ hold: true });
const LOOP = {
  text: 'write loop: [<steps>] with count: <number>; or every: {seconds: …, emit: [<event>, <data>]}',
  rewrite: looped,
};
const CALL = step({ function: '<name>' }, ', a function of config.processor');
const LOG = step({ log: '<text>' });
const CONDITION = text('no step has conditions: write loop: [<steps>] with over: <variable>, a list that can be empty');
const CHECK = {
  text: 'write match: {json: $.0.ok, value: true} in `acknowledge`, `response` or `waitFor`',
  rewrite: intoAnswer('match'),
};
const CAPTURE = {
  text: 'write it in `response`, `acknowledge` or `waitFor`: capture: {json: $.0.id, as: id}',
  rewrite: intoAnswer('capture'),
};
const ACKNOWLEDGE = renamed('acknowledge', 'write acknowledge: true');
const EMITTED = renamed('channel', 'write `channel` instead: emit: {channel: <event>, data: …}');
const DATA = renamed('data', 'write data: <argument>; or all in one list: emit: [<event>, <argument>, …]');
const OUTSIDE = { text: 'write acknowledge: true beside `emit`', rewrite: beside('acknowledge') };
const ARGUMENT = { text: 'write it in `emit`: emit: [<event>, <data>]', rewrite: asArgument };
const AUTH = { text: 'write it in `auth`: auth: {<key>: …}', rewrite: inside('auth') };
const OF_SCENARIO = 'nothing reads it: write it in `socketio` of the scenario';
const OF_CONFIG = {
  text: 'nothing reads it in a scenario: write it in `config`',
  rewrite: movedTo((_, key) => ['config', key]),
};
const OF_ALL = everywhere(`nothing reads it: write it in ${ENGINE_OPTIONS}, for the connections`);

/** Returns a table with the same hint for several names. */
const all = (hint: Hint | string, ...names: string[]) =>
  Object.fromEntries(names.map((name) => [name, typeof hint === 'string' ? text(hint) : hint]));
/** Returns a table in which the hints apply only inside the given key. */
const within = (key: string, hints: Record<string, Hint>) =>
  Object.fromEntries(Object.entries(hints).map(([name, hint]) => [`${key}.${name}`, hint]));
const withinAll = (keys: string[], hints: Record<string, Hint>): Record<string, Hint> =>
  Object.assign({}, ...keys.map((key) => within(key, hints)));

/** Hints by name, or by parent key and name. For the keys of a step, the parent key is `step`. */
const TABLE: Record<string, Hint> = {
  ...within('step', {
    ...all(WAIT, 'once', 'listen', 'listener', 'receive', 'expect', 'expectEvent', 'waitForEvent', 'waitUntil'),
    ...all(WAIT, 'subscribeTo', 'addListener', 'recv', 'await', 'waitForResponse'),
    ...all(THINK, 'wait', 'sleep', 'pause', 'delay', 'thinkTime', 'timer', 'idle'),
    ...all(EMIT, 'send', 'message', 'publish', 'broadcast', 'request', 'event', 'emitWithAck', 'socketEmit'),
    ...all(EMIT, 'join', 'joinRoom', 'join_room', 'leave', 'leaveRoom', 'subscribe', 'unsubscribe', 'room'),
    ...all(CONNECT, 'socketio', 'socket', 'open', 'namespace', 'url', 'login', 'auth', 'authenticate'),
    engine: removed('remove it: a scenario has an engine, and its steps have none'),
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
    ...all(LOG, 'print', 'console', 'debug', 'echo'),
    ...all(CHECK, 'check', 'assert', 'match', 'verify', 'validate'),
    capture: CAPTURE,
    ...all(ACKNOWLEDGE, 'ack', 'callback', 'withAck', 'ackRequired', 'expectAck'),
    ...all(ARGUMENT, 'data', 'args', 'payload', 'channel'),
    http: text('write the method: get: {url: /path}, or post: {url: /path, json: {…}}'),
  }),
  ...within('emit', {
    ...all(EMITTED, 'event', 'name', 'eventName', 'type', 'topic', 'message'),
    ...all(DATA, 'args', 'arguments', 'payload', 'body', 'json', 'params', 'value', 'content'),
    ...all(LOOP, 'count', 'repeat', 'times', 'interval', 'every'),
    ...all(OUTSIDE, 'ack', 'callback', 'withAck'),
    ...all(
      'write acknowledge: {match: {json: $.0.ok, value: true}} beside `emit`',
      'check',
      'expect',
      'match',
      'assert',
    ),
    ...all('the server puts clients into rooms: emit the event to which it does', 'room', 'to'),
  }),
  ...withinAll(['acknowledge', 'response', 'waitFor'], {
    ...all(
      renamed('match', 'write match: {json: $.0.ok, value: true}'),
      'check',
      'expect',
      'assert',
      'validate',
      'verify',
      'equals',
    ),
    ...all('write capture: {json: $.0.id, as: id}', 'save', 'store', 'as', 'extract', 'set'),
    ...all('write it as a step of its own after this one: function: <name>', 'function', 'handler', 'callback', 'fn'),
  }),
  ...within('waitFor', { ...all(renamed('event', 'write event: <event>'), 'on', 'name', 'channel', 'eventName') }),
  ...within('response', { ...all(renamed('on', 'write on: <event>'), 'event', 'name', 'eventName') }),
  ...within('every', {
    ...all(renamed('seconds', 'write seconds: <number>'), 'interval', 'period', 'time', 'duration', 'rate', 'every'),
  }),
  ...withinAll(['connect', 'socketio', ENGINE], {
    ...all(IN_TARGET, 'url', 'uri', 'target', 'server', 'address'),
    ...all(AUTH, 'token', 'jwt', 'accessToken', 'apiKey', 'username', 'user', 'userId', 'password'),
    ...all({ text: 'write `headers`', rewrite: inside('headers') }, 'cookie', 'cookies', 'authorization'),
    ...all(renamed('query', 'write `query`'), 'params', 'queryParams'),
  }),
  ...within('scenario', {
    ...all(
      { text: OF_SCENARIO, rewrite: movedTo((scenario, key) => [...scenario, 'socketio', key]) },
      ...Object.keys(connectionShape),
    ),
    ...all(OF_SCENARIO, 'context', 'cookie', 'options', 'connect', 'token', 'namespace'),
    ...all(OF_CONFIG, 'payload', 'variables', 'phases', 'target', 'processor', 'plugins', 'engines', 'environments'),
    ...all(OF_CONFIG, 'ensure', 'tls', 'timeout', 'defaults'),
    ...all(renamed('flow', 'write `flow`'), 'steps', 'flows', 'step', 'actions'),
    ...all('no scenario repeats: write `loop` in its flow', 'count', 'loop', 'repeat'),
    ...all('write it as a step of the flow', 'think', 'emit', 'hold', 'function'),
  }),
  ...within('config', {
    ...all(OF_ALL, ...Object.keys(connectionShape)),
    ...all(OF_ALL.text, 'namespace', 'context'),
    url: renamed('target', 'write target'),
    ...all(
      { text: 'write them at the top of the file, not in `config`', rewrite: movedTo((_, key) => [key]) },
      ...['scenarios', 'before', 'after'],
    ),
    ...all('write phases: [{duration: …, arrivalRate: …}]', 'duration', 'arrivalRate', 'arrivalCount', 'connections'),
  }),
  ...within('template', {
    ...all(
      filled('{{ $randomNumber(1, 1000) }}'),
      '$randomInt',
      '$randomNumber',
      '$random',
      '$randomInteger',
      '$number',
    ),
    ...all(filled('{{ $randomString(10) }}'), '$randomString', '$randomAlphaNumeric', '$randomWord', '$string'),
    ...all(filled('{{ $uuid }}'), '$guid', '$randomUUID', 'uuid', 'guid', '$id', '$userId', '$vuId', '$vu', '__VU'),
    ...all('write a function that sets it', '$timestamp', '$isoTimestamp', '$now', '$date', 'timestamp', 'now'),
    ...all(filled('{{ $loopCount }}'), '$index', 'index', '$iteration', '__ITER', '$loopIndex', 'i'),
    ...all(filled('{{ $loopElement }}'), '$item', 'item', '$element', '$value'),
    ...all('write {{ $env.NAME }}', 'env', 'process', '$process', 'ENV'),
  }),
  ifTrue: text('only HTTP requests have conditions; a `loop` that goes `over` an empty list does nothing'),
  ...all(HTTP_ONLY, 'probability', 'afterResponse', 'onError', 'expect'),
  name: removed('remove it: only phases and scenarios have names'),
  ...all(FOR_ALL, 'reconnection', 'retry', 'compression', 'parser', 'tls'),
  ...all(
    {
      text: `write connectTimeout in ${ENGINE_OPTIONS}`,
      rewrite: movedTo(() => [...ENGINE_PATH, 'connectTimeout'], milliseconds),
    },
    ...['socketio.timeout', 'requestTimeout'],
  ),
  reconnectionAttempts: { text: 'write reconnection: {attempts: …}', rewrite: inside('reconnection', 'attempts') },
  reconnectionDelay: {
    text: 'write reconnection: {delay: <seconds>}',
    rewrite: inside('reconnection', 'delay', milliseconds),
  },
  reconnectionDelayMax: {
    text: 'write reconnection: {maxDelay: <seconds>}',
    rewrite: inside('reconnection', 'maxDelay', milliseconds),
  },
  randomizationFactor: { text: 'write reconnection: {jitter: …}', rewrite: inside('reconnection', 'jitter') },
  ...Object.fromEntries(
    ['rejectUnauthorized', 'ca', 'cert', 'key'].map((name) => [
      name,
      { text: `write tls: {${name}: …} in ${ENGINE_OPTIONS}`, rewrite: movedTo(() => [...ENGINE_PATH, 'tls', name]) },
    ]),
  ),
  ...all(PEM, 'pfx', 'passphrase'),
  ...all(IN_TARGET, 'host', 'hostname', 'port', 'secure'),
  ackTimeout: renamed('timeout', 'write timeout: <seconds>', milliseconds),
  perMessageDeflate: renamed('compression', 'write compression: true', (value) => value !== false),
  leaveRate: renamed('disconnectRate', 'write disconnectRate'),
  upgrade: {
    text: 'write transports: [polling], or [polling, websocket]',
    rewrite: ({ upgrade, ...owner }) => ({ owner: upgrade === false ? { transports: ['polling'], ...owner } : owner }),
  },
  transportOptions: text('write `extraHeaders` without it'),
  withCredentials: removed('remove it: cookies of HTTP steps go with the handshake anyway'),
  retries: removed('remove it: an event is sent once, and what is lost is counted'),
  ...all(OWN_CONNECTION, 'forceNew', 'multiplex', 'autoConnect'),
  ...all(NOTHING, 'agent', 'ciphers', 'protocols', 'forceBase64', 'timestampParam'),
  ...all(NOTHING, 'timestampRequests', 'transportImplementations', 'tryAllTransports', 'rememberUpgrade'),
  ...all(NOTHING, 'closeOnBeforeunload', 'useNativeTimers', 'autoUnref'),
};

/** Rewrites `on: price`, which has no function to call, to a step that waits for the event. */
const waitWithoutFunction: Rewrite = (owner, key) =>
  Object(owner[key]).function === undefined ? WAIT.rewrite?.(owner, key) : undefined;

/** Rewrites of values whose type is invalid, by key. */
const REWRITES_OF_VALUES = new Map<string, Rewrite>([
  ['emit', asList],
  ['loop', looped],
  ['think', spread],
]);

const HINTS = new Map(Object.entries(TABLE));

/**
 * Returns the hint for a name.
 * @param within parent key of the name: `step`, `emit`, `scenario`, `config`, `template`, …
 */
export function hintFor(name: string, within: string): Hint | undefined {
  return HINTS.get(`${within}.${name}`);
}

/** Adds hints to the problems of unknown options. */
export function withHints(problems: Problem[]): Problem[] {
  return problems.map((problem) => {
    const [name = '', parent = ''] = problem.path.split('.').reverse();
    const within = /^(flow|loop|parallel)\[/.test(parent) ? 'step' : parent.replace(/\[.*/, '');
    const hint = hintFor(name, within) ?? HINTS.get(name);
    const ofValue = REWRITES_OF_VALUES.get(name);
    if (ofValue) return { rewrite: ofValue, ...problem };
    if (problem.at && /(flow|loop)\[\d+\]\.on(\.function)?$/.test(problem.path)) {
      return { ...problem, at: problem.at.slice(0, problem.at.lastIndexOf('on') + 1), rewrite: waitWithoutFunction };
    }
    if (!hint || !problem.isUnknownKey) return problem;
    const { text, rewrite } = hint;
    return { ...problem, message: `unknown option: ${text.replace('<key>', name)}`, ...(rewrite && { rewrite }) };
  });
}
