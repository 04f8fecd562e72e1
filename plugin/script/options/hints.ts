/** Where to write what other engines and clients call otherwise, or that nothing takes its place. */
import type { Problem } from '../../../protocol/problems.ts';
import { ENGINE } from '../script.ts';

const BESIDE = 'write it beside `emit`, not inside';
const FOR_ALL = `the same for all connections: write it in config.engines.${ENGINE}`;

/** By the name, or by the last two of the place. */
const HINTS: Record<string, string> = {
  'emit.response': BESIDE,
  'emit.acknowledge': BESIDE,
  'emit.namespace': BESIDE,
  ifTrue: 'only HTTP requests have conditions; a `loop` that goes `over` an empty list does nothing',
  name: 'remove it: only phases and scenarios have names',
  reconnection: FOR_ALL,
  retry: FOR_ALL,
  compression: FOR_ALL,
  parser: FOR_ALL,
  tls: FOR_ALL,
  'connect.timeout': 'write it beside `connect`',
  reconnectionAttempts: 'write reconnection: {attempts: …}',
  reconnectionDelay: 'write reconnection: {delay: <seconds>}',
  reconnectionDelayMax: 'write reconnection: {maxDelay: <seconds>}',
  randomizationFactor: 'write reconnection: {jitter: …}',
  rejectUnauthorized: `write tls: {rejectUnauthorized: …} in config.engines.${ENGINE}`,
  'tls.pfx': 'write `cert` and `key`, as PEM',
  ackTimeout: 'write timeout: <seconds>',
  perMessageDeflate: 'write compression: true',
  leaveRate: 'write disconnectRate',
  upgrade: 'write transports: [polling], or [polling, websocket]',
  withCredentials: 'remove it: cookies of HTTP steps go with the handshake anyway',
  retries: 'remove it: an event is sent once, and what is lost is counted',
  forceNew: 'remove it: every virtual user has its own connection anyway',
};

/** @returns the problems, of which unknown options say what to write instead */
export function withHints(problems: Problem[]): Problem[] {
  return problems.map((problem) => {
    const [name = '', within] = problem.path.split('.').reverse();
    const hint = HINTS[`${within}.${name}`] ?? HINTS[name];
    return hint && problem.message.startsWith('unknown option')
      ? { ...problem, message: `unknown option: ${hint}` }
      : problem;
  });
}
