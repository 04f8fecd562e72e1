/** Opens the inspector of a process and closes it again. An inspector that was already open stays open. */
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import {
  describeClients,
  describeListeners,
  ESTABLISHED,
  LISTEN,
  listSockets,
  ownsAnySocket,
  parseKernelPort,
} from '../../../protocol/base/machine/sockets.ts';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import { errorCodeOf } from '../absence.ts';
import { ListeningPorts } from '../processes/listeners.ts';
import { printableCommandOf } from '../processes/process-name.ts';
import { debuggerUrl, InspectorSession } from './inspector-session.ts';
import { reserveInspector } from './inspector-turn.ts';
import { type InspectableProcess, isStillSafe } from './may-open.ts';

const LOOPBACK = '127.0.0.1';
const POLL_MS = 20;
/**
 * Time limit for the inspector to open. Node opens it within 0.2 s, even while the event loop is busy; only native code
 * delays it.
 */
const OPEN_TIMEOUT_MS = 5000;
/**
 * Time limit of an inspector's answer, in milliseconds. An inspector answers quickly, because it has its own thread.
 */
const ANSWER_TIMEOUT_MS = 1000;
/** Time limit for another program to close its inspector on the same port, in milliseconds. */
const FREE_TIMEOUT_MS = 3000;
/** Time limit of a connect on loopback. It takes longer only if the program is stopped. */
const ACCEPT_TIMEOUT_MS = 1000;
/**
 * Time after which the process closes its inspector by itself, in milliseconds, in case this run ends without closing
 * it.
 */
const LONGEST_OPEN_MS = 90_000;

/** Code to evaluate in the measured process. Timers are numbers in Deno. */
const CLOSE_LATER = `((timer) => {
  if (timer.unref) timer.unref(); else globalThis.Deno?.unrefTimer?.(timer);
  return { timer };
})(setTimeout(() => { try { process._debugEnd(); } catch {} }, ${LONGEST_OPEN_MS}))`;
const CLOSE_NOW = 'function () { clearTimeout(this.timer); process._debugEnd(); }';

/** An inspector session, and a function `close` that ends the session. `close` is idempotent and never rejects. */
export interface OpenInspector {
  session: InspectorSession;
  close(): Promise<void>;
}

/**
 * Connects to an open inspector, and does not close it later.
 * @param url URL of the inspector
 * @throws CapacityError SOURCE_UNREACHABLE
 */
export async function attachInspector(url: URL): Promise<OpenInspector> {
  const found = url.protocol === 'ws:' ? url.href : await debuggerUrl(url).catch((error) => noInspector(url, error));
  const session = await InspectorSession.connect(found);
  return { session, close: () => session.close() };
}

/**
 * Opens the inspector of a process with a signal.
 * @param onSignal called right before the signal is sent
 * @throws CapacityError INSPECTOR_BUSY, INSPECTOR_OFF or INSPECTOR_SILENT
 */
export async function openProcessInspector(
  target: InspectableProcess,
  onSignal: () => void = () => {},
): Promise<OpenInspector> {
  const endTurn = await reserveInspector(target.port === 0 ? `process ${target.pid}` : `port ${target.port}`);
  try {
    const { session, close } = await openInTurn(target, onSignal);
    return { session, close: () => close().finally(endTurn) };
  } catch (error) {
    endTurn();
    throw error;
  }
}

async function openInTurn(target: InspectableProcess, onSignal: () => void): Promise<OpenInspector> {
  if (await isOpen(target)) {
    await requireNoDebugger(target);
    return attachInspector(baseOf(target.port));
  }
  const before = target.port === 0 ? portsOf(target.pid) : [];
  if (!isStillSafe(target)) throw silent(target, 'has ended, or no longer catches SIGUSR1');
  onSignal();
  process.kill(target.pid, 'SIGUSR1');
  const session = await connectTo(target, before);
  try {
    const { value } = await session.evaluate('process.pid');
    if (value !== target.ownPid) throw await busy(target);
    const { objectId } = await session.evaluate(CLOSE_LATER, { byValue: false });
    return { session, close: () => closeOpened(session, objectId) };
  } catch (error) {
    await session.close();
    throw error;
  }
}

/** Closes an inspector that opened after `openProcessInspector` had timed out. Never rejects. */
export async function closeLateInspector(target: InspectableProcess): Promise<void> {
  try {
    if (target.port === 0 || !(await holds(target))) return;
    const session = await InspectorSession.connect(await debuggerUrl(baseOf(target.port)));
    await closeOpened(session, undefined);
  } catch {
    // An error here means that the inspector is already closed, or that the process has ended.
  }
}

async function closeOpened(session: InspectorSession, timer: string | undefined): Promise<void> {
  const ending = timer
    ? session.request('Runtime.callFunctionOn', { objectId: timer, functionDeclaration: CLOSE_NOW })
    : session.evaluate('process._debugEnd()');
  // The inspector closes the connection before it answers, so the error is expected.
  ending.catch(() => {});
  await session.ended();
  await session.close();
}

/**
 * Waits until the inspector's port is free, or until the measured process itself uses it.
 * @returns whether the measured process uses the port
 * @throws CapacityError INSPECTOR_BUSY
 */
async function isOpen(target: InspectableProcess): Promise<boolean> {
  const { port } = target;
  if (port === 0) return false;
  const deadlineMs = performance.now() + FREE_TIMEOUT_MS;
  while (await listens(port)) {
    if (await holds(target)) return true;
    if (performance.now() > deadlineMs) throw await busy(target);
    await delay(POLL_MS);
  }
  return false;
}

async function busy({ pid, port }: InspectableProcess): Promise<CapacityError> {
  return new CapacityError(
    'INSPECTOR_BUSY',
    `process ${pid} (${printableCommandOf(pid)}) cannot open its inspector: ${await describeListeners(port)} listens on port ${port}`,
    'end that program, or start the server with `--inspect-port=0`',
  );
}

async function requireNoDebugger({ pid, port }: InspectableProcess): Promise<void> {
  const attached = await listSockets(({ local, state }) => state === ESTABLISHED && parseKernelPort(local) === port);
  if (!attached?.length) return;
  throw new CapacityError(
    'INSPECTOR_BUSY',
    `${await describeClients(port)} is connected to the inspector of process ${pid} (${printableCommandOf(pid)}), and can stop it at any time`,
    'disconnect the debugger during the run',
  );
}

/**
 * Waits until the inspector has opened, and connects to it.
 * @param before ports of the process before the signal, if the kernel chooses the inspector's port
 */
async function connectTo(target: InspectableProcess, before: number[]): Promise<InspectorSession> {
  const deadlineMs = performance.now() + OPEN_TIMEOUT_MS;
  while (performance.now() < deadlineMs) {
    await delay(POLL_MS);
    const ports = target.port === 0 ? portsOf(target.pid).filter((port) => !before.includes(port)) : [target.port];
    // A port that a process has newly opened may belong to the server itself, which may never answer the run.
    const asked = ports.map((port) => debuggerUrl(baseOf(port), ANSWER_TIMEOUT_MS));
    const url = await Promise.any(asked).catch(() => undefined);
    if (url !== undefined) return InspectorSession.connect(url);
  }
  throw silent(target, `opened no inspector within ${OPEN_TIMEOUT_MS / 1000} s after SIGUSR1`);
}

function silent({ pid }: InspectableProcess, what: string): CapacityError {
  return new CapacityError('INSPECTOR_SILENT', `process ${pid} (${printableCommandOf(pid)}) ${what}`);
}

function noInspector(url: URL, error: unknown): never {
  const why = errorCodeOf(error) || (error as Error).message;
  const fix = `start Node with \`--inspect\`, or correct the URL; of a Go server, name its pprof: ${url.origin}/debug/pprof`;
  throw new CapacityError('SOURCE_UNREACHABLE', `no inspector answers at ${url.origin}: ${why}`, fix);
}

function baseOf(port: number): URL {
  return new URL(`http://${LOOPBACK}:${port}`);
}

function portsOf(pid: number): number[] {
  return new ListeningPorts().of(pid) ?? [];
}

async function holds({ pid, port }: InspectableProcess): Promise<boolean> {
  const sockets = await listSockets(({ local, state }) => state === LISTEN && parseKernelPort(local) === port);
  return ownsAnySocket(pid, new Set(sockets?.map(({ link }) => link)));
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: LOOPBACK, timeout: ACCEPT_TIMEOUT_MS });
    const settle = (answers: boolean) => {
      socket.destroy();
      resolve(answers);
    };
    for (const event of ['connect', 'timeout']) socket.once(event, () => settle(true));
    socket.once('error', () => settle(false));
  });
}
