/**
 * Reads the heap of a JVM with the attach protocol that `jcmd` uses, without a JDK. The signal SIGQUIT and a file make
 * the JVM listen on a Unix socket in its /tmp; only the JVM's own user and root may connect. The figure excludes memory
 * outside the heap, such as direct buffers.
 */
import { once } from 'node:events';
import { closeSync, existsSync, fchownSync, openSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { tryOrUndefined } from '../../../protocol/base/try-or-undefined.ts';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import { SourceAbsentError } from '../absence.ts';
import { bodyBeginning } from '../late-answers.ts';
import { livingStat } from '../processes/proc.ts';
import { printableCommandOf } from '../processes/process-name.ts';
import { GC_TIMEOUT_MS, type InspectedMemory, type InspectedProcess } from './inspected.ts';
import { catchesSignal, maySignal, statusField } from './may-open.ts';

const SIGQUIT = 3;
const POLL_MS = 20;
const OPEN_TIMEOUT_MS = 5000;
const MAX_ANSWER_BYTES = 64 * 1024;
const ALLOW = 'start the JVM without `-XX:+DisableAttachMechanism`';

export class JvmProcess implements InspectedProcess {
  readonly name: string;
  readonly runtime = 'jvm';
  readonly #pid: number;

  constructor(pid: number) {
    this.#pid = pid;
    this.name = `process ${pid}`;
  }

  /**
   * Reads the used bytes of the heap.
   * @throws CapacityError PROCESS_NOT_FOUND, INSPECTOR_FORBIDDEN, INSPECTOR_OFF or INSPECTOR_SILENT; SourceAbsentError
   * if the JVM refuses the command
   */
  async read(collect: boolean): Promise<InspectedMemory> {
    const socket = await openSocket(this.#pid);
    const beganMs = performance.now();
    if (collect) await jcmd(socket, 'GC.run');
    const pauseMs = collect ? performance.now() - beganMs : 0;
    const used = parseUsedHeapBytes(await jcmd(socket, 'GC.heap_info'));
    if (used === undefined)
      throw new SourceAbsentError('unsupported', `${this.name} does not report the size of its heap`);
    return { keptBytes: used, heapUsedBytes: used, pauseMs };
  }

  /** Does nothing, because no connection stays open between readings. */
  async close(): Promise<void> {}
}

/**
 * Adds up the used bytes of the heap, for any garbage collector.
 * @param text output such as ` garbage-first heap total 262144K, used 5321K [0x…)`; the following lines describe parts
 * of the heap, or Metaspace
 */
export function parseUsedHeapBytes(text: string): number | undefined {
  const heap = text.split('\n').filter((line) => !/metaspace|class space|^\s{2,}/i.test(line));
  const sizes = heap.flatMap((line) => {
    const [, size, unit = 'K'] = /\bused (\d+)([KMG])\b/.exec(line) ?? [];
    return size === undefined ? [] : [Number(size) * 1024 ** ('KMG'.indexOf(unit) + 1)];
  });
  return sizes.length === 0 ? undefined : sizes.reduce((sum, size) => sum + size, 0);
}

/**
 * Returns whether this user may send the signal, and whether the JVM handles it: an unhandled signal would end the JVM.
 * Only an attempt shows whether the JVM itself forbids attaching.
 */
export function mayAttachToJvm(pid: number): boolean {
  const status = tryOrUndefined(() => readFileSync(`/proc/${pid}/status`, 'utf8'));
  return status !== undefined && maySignal(status) && catchesSignal(status, SIGQUIT);
}

/** Returns the path of the Unix socket on which the JVM listens. The socket stays open afterwards. */
async function openSocket(pid: number): Promise<string> {
  const status = tryOrUndefined(() => readFileSync(`/proc/${pid}/status`, 'utf8'));
  if (!livingStat(pid) || status === undefined)
    throw new CapacityError('PROCESS_NOT_FOUND', `process ${pid} has ended`);
  const shown = `process ${pid} (${printableCommandOf(pid)})`;
  if (!maySignal(status))
    throw new CapacityError('INSPECTOR_FORBIDDEN', `${shown} belongs to another user, who alone may read its heap`);
  const ownPid = statusField(status, 'NSpid')?.split(/\s+/).at(-1) ?? pid;
  const socket = `/proc/${pid}/root/tmp/.java_pid${ownPid}`;
  if (existsSync(socket)) return socket;
  if (!catchesSignal(status, SIGQUIT))
    throw new CapacityError('INSPECTOR_OFF', `${shown} does not catch SIGQUIT, which would end it`, ALLOW);
  const marker = `/proc/${pid}/root/tmp/.attach_pid${ownPid}`;
  const [, uid, ,] = (statusField(status, 'Uid') ?? '').split(/\s+/).map(Number);
  const isOwn = createMarker(marker, uid);
  try {
    process.kill(pid, 'SIGQUIT');
    for (const endMs = performance.now() + OPEN_TIMEOUT_MS; performance.now() < endMs; await delay(POLL_MS)) {
      if (existsSync(socket)) return socket;
    }
  } finally {
    if (isOwn) rmSync(marker, { force: true });
  }
  throw new CapacityError(
    'INSPECTOR_SILENT',
    `${shown} opened no socket within ${OPEN_TIMEOUT_MS / 1000} s after SIGQUIT`,
    ALLOW,
  );
}

/**
 * Creates the file that makes the JVM listen. All users can write to /tmp, so the call follows no symbolic link and
 * changes no existing file.
 * @returns false if the file exists, for example because another program attaches at the same time
 */
function createMarker(path: string, uid: number | undefined): boolean {
  let file: number;
  try {
    file = openSync(path, 'wx', 0o600);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return false;
    const fix = 'let the JVM have a /tmp that this user can write to';
    throw new CapacityError('INSPECTOR_FORBIDDEN', `${path} cannot be created (${code})`, fix, { cause: error });
  }
  if (uid !== undefined) tryOrUndefined(() => fchownSync(file, uid, -1));
  closeSync(file);
  return true;
}

async function jcmd(path: string, command: string): Promise<string> {
  const socket = connect({ path, signal: AbortSignal.timeout(GC_TIMEOUT_MS) } as never);
  socket.setTimeout(GC_TIMEOUT_MS, () => socket.destroy(new Error('no answer')));
  try {
    await once(socket, 'connect');
    socket.write(`1\0jcmd\0${command}\0\0\0`);
    const text = await bodyBeginning(socket, MAX_ANSWER_BYTES);
    const [code, ...lines] = text.split('\n');
    if (code?.trim() !== '0')
      throw new SourceAbsentError('unsupported', `the JVM refuses ${command}: ${lines[0] ?? text}`);
    return lines.join('\n');
  } finally {
    socket.destroy();
  }
}
