/** Hints for options of other engines and clients: the equivalent here, or that there is none. */
import type { Problem } from '../../../protocol/base/problems.ts';
import { ENGINE } from '../script.ts';

const ENGINE_OPTIONS = `config.engines.${ENGINE}`;
const FOR_ALL = `the same for all connections: write it in ${ENGINE_OPTIONS}`;
const HTTP_ONLY = 'remove it: only HTTP requests have it';
const IN_TARGET = 'write it in config.target';
const OWN_CONNECTION = 'remove it: every virtual user has its own connection anyway';
const NOTHING = 'remove it: there is no equivalent';
const PEM = 'write `cert` and `key` into `tls`, as PEM without a passphrase';

/** Assigns one hint to several names. */
const all = (hint: string, ...names: string[]) => Object.fromEntries(names.map((name) => [name, hint]));

/** Hints by option name, or by the last two keys of its path. */
const HINTS: Record<string, string> = {
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
  ...all(NOTHING, 'agent', 'ciphers', 'protocols', 'addTrailingSlash', 'forceBase64', 'timestampParam'),
  ...all(NOTHING, 'timestampRequests', 'transportImplementations', 'tryAllTransports', 'rememberUpgrade'),
  ...all(NOTHING, 'closeOnBeforeunload', 'useNativeTimers', 'autoUnref'),
};

/** Adds hints to the problems of unknown options. */
export function withHints(problems: Problem[]): Problem[] {
  return problems.map((problem) => {
    const [name = '', within] = problem.path.split('.').reverse();
    const hint = HINTS[`${within}.${name}`] ?? HINTS[name];
    return hint && problem.isUnknownKey ? { ...problem, message: `unknown option: ${hint}` } : problem;
  });
}
