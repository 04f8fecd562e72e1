/** Where to write what other engines and clients call otherwise. */
import type { Problem } from '../../../protocol/problems.ts';

/** Options of socket.io-client that have another name here, or none. */
const HINTS: Record<string, string> = {
  reconnectionAttempts: 'write reconnection: {attempts: …}',
  reconnectionDelay: 'write reconnection: {delay: <seconds>}',
  reconnectionDelayMax: 'write reconnection: {maxDelay: <seconds>}',
  randomizationFactor: 'write reconnection: {jitter: …}',
  rejectUnauthorized: 'write tls: {rejectUnauthorized: …}',
  ackTimeout: 'write timeout: <seconds>',
  perMessageDeflate: 'write compression: true',
  parser: 'one parser serves all connections: write it in config.engines.socketio-capacity',
  leaveRate: 'write disconnectRate',
  forceNew: 'remove it: every virtual user has its own connection anyway',
};

/** @returns the problems, of which unknown options say what to write instead */
export function withHints(problems: Problem[]): Problem[] {
  return problems.map((problem) => {
    const hint = HINTS[problem.path.slice(problem.path.lastIndexOf('.') + 1)];
    return hint && problem.message.startsWith('unknown option')
      ? { ...problem, message: `unknown option: ${hint}` }
      : problem;
  });
}
