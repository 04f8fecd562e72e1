/**
 * Hints for unknown names, such as names of other engines and clients. A hint suggests a replacement for the name, or
 * states that there is no equivalent.
 */
import type { InputProblem, ScriptRewrite } from '../../../protocol/base/problems.ts';
import { ENGINE_NAME } from '../script.ts';
import { connectionShape } from './connect-options.ts';
import {
  ENGINE_SETTINGS_PATH,
  fillTemplateHint,
  moveIntoAnswerCheck,
  moveIntoArguments,
  moveIntoKey,
  moveKey,
  moveOutOfMap,
  moveToEngineHint,
  type OptionHint,
  removeKeyHint,
  renameKeyHint,
  replaceStepHint,
  rewriteToConnectStep,
  rewriteToJitter,
  rewriteToList,
  rewriteToLoopStep,
  textHint,
  toMillisecondsText,
} from './rewrites.ts';

const ENGINE_OPTIONS = `config.engines.${ENGINE_NAME}`;
const FOR_ALL = moveToEngineHint(`the same for all connections: write it in ${ENGINE_OPTIONS}`);
const HTTP_ONLY = removeKeyHint('remove it: only HTTP requests have it');
const IN_TARGET = removeKeyHint('write it in config.target');
const OWN_CONNECTION = removeKeyHint('remove it: every virtual user has its own connection anyway');
const NOTHING = removeKeyHint('remove it: there is no equivalent');
const PEM = textHint('write `cert` and `key` into `tls`, as PEM without a passphrase');
const WAIT = replaceStepHint(
  { waitFor: { event: '<event>' } },
  ', or response: {on: <event>} beside the emit that it answers',
);
const THINK = replaceStepHint({ think: '<seconds>' });
const EMIT = replaceStepHint({ emit: ['<event>', '<data>'] });
const CONNECT = {
  text: 'write connect: true, connect: <namespace> or connect: {auth: …}, or nothing: the first emit connects',
  rewrite: rewriteToConnectStep,
};
const CLOSE = replaceStepHint({ disconnect: true });
const STAY = replaceStepHint({ hold: true });
const LOOP = {
  text: 'write loop: [<steps>] with count: <number>; or every: {seconds: …, emit: [<event>, <data>]}',
  rewrite: rewriteToLoopStep,
};
const CALL = replaceStepHint({ function: '<name>' }, ', a function of config.processor');
const LOG = replaceStepHint({ log: '<text>' });
const CONDITION = textHint(
  'no step has conditions: write loop: [<steps>] with over: <variable>, a list that can be empty',
);
const CHECK = {
  text: 'write match: {json: $.0.ok, value: true} in `acknowledge`, `response` or `waitFor`',
  rewrite: moveIntoAnswerCheck('match'),
};
const CAPTURE = {
  text: 'write it in `response`, `acknowledge` or `waitFor`: capture: {json: $.0.id, as: id}',
  rewrite: moveIntoAnswerCheck('capture'),
};
const ACKNOWLEDGE = renameKeyHint('acknowledge', 'write acknowledge: true');
const EMITTED = renameKeyHint('channel', 'write `channel` instead: emit: {channel: <event>, data: …}');
const DATA = renameKeyHint('data', 'write data: <argument>; or all in one list: emit: [<event>, <argument>, …]');
const OUTSIDE = { text: 'write acknowledge: true beside `emit`', rewrite: moveOutOfMap('acknowledge') };
const ARGUMENT = { text: 'write it in `emit`: emit: [<event>, <data>]', rewrite: moveIntoArguments };
const AUTH = { text: 'write it in `auth`: auth: {<key>: …}', rewrite: moveIntoKey('auth') };
const OF_SCENARIO = 'nothing reads it: write it in `socketio` of the scenario';
const OF_CONFIG = {
  text: 'nothing reads it in a scenario: write it in `config`',
  rewrite: moveKey((_, key) => ['config', key]),
};
const OF_ALL = moveToEngineHint(`nothing reads it: write it in ${ENGINE_OPTIONS}, for the connections`);

/** Returns a table with the same hint for several names. */
const all = (hint: OptionHint | string, ...names: string[]) =>
  Object.fromEntries(names.map((name) => [name, typeof hint === 'string' ? textHint(hint) : hint]));
/** Returns a table in which the hints apply only inside the given key. */
const within = (key: string, hints: Record<string, OptionHint>) =>
  Object.fromEntries(Object.entries(hints).map(([name, hint]) => [`${key}.${name}`, hint]));
const withinAll = (keys: string[], hints: Record<string, OptionHint>): Record<string, OptionHint> =>
  Object.assign({}, ...keys.map((key) => within(key, hints)));

/** Hints by name, or by parent key and name. For the keys of a step, the parent key is `step`. */
const TABLE: Record<string, OptionHint> = {
  ...within('step', {
    ...all(WAIT, 'once', 'listen', 'listener', 'receive', 'expect', 'expectEvent', 'waitForEvent', 'waitUntil'),
    ...all(WAIT, 'subscribeTo', 'addListener', 'recv', 'await', 'waitForResponse'),
    ...all(THINK, 'wait', 'sleep', 'pause', 'delay', 'thinkTime', 'timer', 'idle'),
    ...all(EMIT, 'send', 'message', 'publish', 'broadcast', 'request', 'event', 'emitWithAck', 'socketEmit'),
    ...all(EMIT, 'join', 'joinRoom', 'join_room', 'leave', 'leaveRoom', 'subscribe', 'unsubscribe', 'room'),
    ...all(CONNECT, 'socketio', 'socket', 'open', 'namespace', 'url', 'login', 'auth', 'authenticate'),
    engine: removeKeyHint('remove it: a scenario has an engine, and its steps have none'),
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
    http: textHint('write the method: get: {url: /path}, or post: {url: /path, json: {…}}'),
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
      renameKeyHint('match', 'write match: {json: $.0.ok, value: true}'),
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
  ...within('waitFor', {
    ...all(renameKeyHint('event', 'write event: <event>'), 'on', 'name', 'channel', 'eventName'),
  }),
  ...within('response', { ...all(renameKeyHint('on', 'write on: <event>'), 'event', 'name', 'eventName') }),
  ...within('every', {
    ...all(
      renameKeyHint('seconds', 'write seconds: <number>'),
      'interval',
      'period',
      'time',
      'duration',
      'rate',
      'every',
    ),
  }),
  ...withinAll(['connect', 'socketio', ENGINE_NAME], {
    ...all(IN_TARGET, 'url', 'uri', 'target', 'server', 'address'),
    ...all(AUTH, 'token', 'jwt', 'accessToken', 'apiKey', 'username', 'user', 'userId', 'password'),
    ...all({ text: 'write `headers`', rewrite: moveIntoKey('headers') }, 'cookie', 'cookies', 'authorization'),
    ...all(renameKeyHint('query', 'write `query`'), 'params', 'queryParams'),
  }),
  ...within('scenario', {
    ...all(
      { text: OF_SCENARIO, rewrite: moveKey((scenario, key) => [...scenario, 'socketio', key]) },
      ...Object.keys(connectionShape),
    ),
    ...all(OF_SCENARIO, 'context', 'cookie', 'options', 'connect', 'token', 'namespace'),
    ...all(OF_CONFIG, 'payload', 'variables', 'phases', 'target', 'processor', 'plugins', 'engines', 'environments'),
    ...all(OF_CONFIG, 'ensure', 'tls', 'timeout', 'defaults'),
    ...all(renameKeyHint('flow', 'write `flow`'), 'steps', 'flows', 'step', 'actions'),
    ...all('no scenario repeats: write `loop` in its flow', 'count', 'loop', 'repeat'),
    ...all('write it as a step of the flow', 'think', 'emit', 'hold', 'function'),
  }),
  ...within('config', {
    ...all(OF_ALL, ...Object.keys(connectionShape)),
    ...all(OF_ALL.text, 'namespace', 'context'),
    url: renameKeyHint('target', 'write target'),
    ...all(
      { text: 'write them at the top of the file, not in `config`', rewrite: moveKey((_, key) => [key]) },
      ...['scenarios', 'before', 'after'],
    ),
    ...all('write phases: [{duration: …, arrivalRate: …}]', 'duration', 'arrivalRate', 'arrivalCount', 'connections'),
  }),
  ...within('template', {
    ...all(
      fillTemplateHint('{{ $randomNumber(1, 1000) }}'),
      '$randomInt',
      '$randomNumber',
      '$random',
      '$randomInteger',
      '$number',
    ),
    ...all(
      fillTemplateHint('{{ $randomString(10) }}'),
      '$randomString',
      '$randomAlphaNumeric',
      '$randomWord',
      '$string',
    ),
    ...all(
      fillTemplateHint('{{ $uuid }}'),
      '$guid',
      '$randomUUID',
      'uuid',
      'guid',
      '$id',
      '$userId',
      '$vuId',
      '$vu',
      '__VU',
    ),
    ...all('write a function that sets it', '$timestamp', '$isoTimestamp', '$now', '$date', 'timestamp', 'now'),
    ...all(fillTemplateHint('{{ $loopCount }}'), '$index', 'index', '$iteration', '__ITER', '$loopIndex', 'i'),
    ...all(fillTemplateHint('{{ $loopElement }}'), '$item', 'item', '$element', '$value'),
    ...all('write {{ $env.NAME }}', 'env', 'process', '$process', 'ENV'),
  }),
  ifTrue: textHint('only HTTP requests have conditions; a `loop` that goes `over` an empty list does nothing'),
  ...all(HTTP_ONLY, 'probability', 'afterResponse', 'onError', 'expect'),
  name: removeKeyHint('remove it: only phases and scenarios have names'),
  ...all(FOR_ALL, 'reconnection', 'retry', 'compression', 'parser', 'tls'),
  ...all(
    {
      text: `write connectTimeout in ${ENGINE_OPTIONS}`,
      rewrite: moveKey(() => [...ENGINE_SETTINGS_PATH, 'connectTimeout'], toMillisecondsText),
    },
    ...['socketio.timeout', 'requestTimeout'],
  ),
  reconnectionAttempts: { text: 'write reconnection: {attempts: …}', rewrite: moveIntoKey('reconnection', 'attempts') },
  reconnectionDelay: {
    text: 'write reconnection: {delay: <seconds>}',
    rewrite: moveIntoKey('reconnection', 'delay', toMillisecondsText),
  },
  reconnectionDelayMax: {
    text: 'write reconnection: {maxDelay: <seconds>}',
    rewrite: moveIntoKey('reconnection', 'maxDelay', toMillisecondsText),
  },
  randomizationFactor: { text: 'write reconnection: {jitter: …}', rewrite: moveIntoKey('reconnection', 'jitter') },
  ...Object.fromEntries(
    ['rejectUnauthorized', 'ca', 'cert', 'key'].map((name) => [
      name,
      {
        text: `write tls: {${name}: …} in ${ENGINE_OPTIONS}`,
        rewrite: moveKey(() => [...ENGINE_SETTINGS_PATH, 'tls', name]),
      },
    ]),
  ),
  ...all(PEM, 'pfx', 'passphrase'),
  ...all(IN_TARGET, 'host', 'hostname', 'port', 'secure'),
  ackTimeout: renameKeyHint('timeout', 'write timeout: <seconds>', toMillisecondsText),
  perMessageDeflate: renameKeyHint('compression', 'write compression: true', (value) => value !== false),
  leaveRate: renameKeyHint('disconnectRate', 'write disconnectRate'),
  upgrade: {
    text: 'write transports: [polling], or [polling, websocket]',
    rewrite: ({ upgrade, ...owner }) => ({ owner: upgrade === false ? { transports: ['polling'], ...owner } : owner }),
  },
  transportOptions: textHint('write `extraHeaders` without it'),
  withCredentials: removeKeyHint('remove it: cookies of HTTP steps go with the handshake anyway'),
  retries: removeKeyHint('remove it: an event is sent once, and what is lost is counted'),
  ...all(OWN_CONNECTION, 'forceNew', 'multiplex', 'autoConnect'),
  ...all(NOTHING, 'agent', 'ciphers', 'protocols', 'forceBase64', 'timestampParam'),
  ...all(NOTHING, 'timestampRequests', 'transportImplementations', 'tryAllTransports', 'rememberUpgrade'),
  ...all(NOTHING, 'closeOnBeforeunload', 'useNativeTimers', 'autoUnref'),
};

/** Rewrites `on: price`, which names no function to call, to a step that waits for the event. */
const waitWithoutFunction: ScriptRewrite = (owner, key) =>
  Object(owner[key]).function === undefined ? WAIT.rewrite?.(owner, key) : undefined;

/** Rewrites by key, for values whose type is invalid. */
const REWRITES_OF_VALUES = new Map<string, ScriptRewrite>([
  ['emit', rewriteToList],
  ['loop', rewriteToLoopStep],
  ['think', rewriteToJitter],
]);

const HINTS = new Map(Object.entries(TABLE));

/**
 * Returns the hint for a name.
 * @param within parent key of the name: `step`, `emit`, `scenario`, `config`, `template`, …
 */
export function hintFor(name: string, within: string): OptionHint | undefined {
  return HINTS.get(`${within}.${name}`);
}

/** Adds hints to the problems of unknown options. */
export function addHints(problems: InputProblem[]): InputProblem[] {
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
