/**
 * The sentinel: one receiver with nothing else to do, in its own process. It joins the room after everybody else,
 * so that its worker serves it last. A receiver on that worker that gets a broadcast after the sentinel has not waited for
 * the server.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { monotonicUs } from '../../../protocol/clock/clock.ts';
import type { ErrorCode } from '../../../protocol/codes/error-codes.ts';
import { CapacityError } from '../../../protocol/errors.ts';
import { endChild } from '../../../protocol/helpers/end-child.ts';
import type { OwnClient } from './own-clients.ts';

/** To the sentinel's process. */
export type SentinelCommand = { op: 'connect'; client: OwnClient } | { op: 'join'; room: string };

/** From it. Times are CLOCK_MONOTONIC in microseconds, taken there. */
export type SentinelAnswer =
  | { op: 'connected' }
  | { op: 'joined'; worker: string; atUs: number }
  | { op: 'received'; seq: number; atUs: number }
  | { op: 'left'; atUs: number }
  | { op: 'failed'; code: ErrorCode; message: string; fix: string };

/** What the sentinel has received. */
export interface SentinelReceipts {
  worker: string;
  joinedAtUs: number;
  /** Its connection, or its process, ended before `close()`. */
  leftAtUs: number | undefined;
  /** Broadcast → first receipt. */
  receivedAtUs: Map<number, number>;
}

/** Longer than a connection or a join may take. */
const ANSWER_TIMEOUT_MS = 15_000;
const EXIT_GRACE_MS = 2000;
const moduleSuffix = import.meta.url.endsWith('.ts') ? '.ts' : '.js';

export class Sentinel {
  readonly #child: ChildProcess;
  #asked = Promise.withResolvers<void>();
  #receipts: SentinelReceipts | undefined;
  #closing: Promise<void> | undefined;
  /** To the target, now. */
  connected = false;

  private constructor(child: ChildProcess) {
    this.#child = child;
    child.on('message', (answer: SentinelAnswer) => this.#receive(answer));
    child.on('error', (error) => this.#asked.reject(error));
    child.on('exit', () => {
      this.#left(monotonicUs());
      this.#asked.reject(new Error("the sentinel's process ended"));
    });
  }

  /**
   * Starts the process, and lets it come as the load will.
   * @throws CapacityError TARGET_UNREACHABLE, or the signal's reason
   */
  static async start(client: OwnClient, signal: AbortSignal): Promise<Sentinel> {
    const child = fork(fileURLToPath(new URL(`./sentinel-process${moduleSuffix}`, import.meta.url)), {
      execArgv: ['--disable-warning=ExperimentalWarning'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const sentinel = new Sentinel(child);
    try {
      await sentinel.#ask({ op: 'connect', client }, signal);
      return sentinel;
    } catch (error) {
      await sentinel.close();
      throw error;
    }
  }

  /**
   * Makes it a member of the room.
   * @returns what it sees from now on; it grows as broadcasts arrive
   * @throws CapacityError JOIN_REFUSED, Error when its process has ended, or the signal's reason
   */
  async join(room: string, signal: AbortSignal): Promise<SentinelReceipts> {
    await this.#ask({ op: 'join', room }, signal);
    return this.#receipts as SentinelReceipts;
  }

  /** Idempotent; resolves when the process is gone. */
  close(): Promise<void> {
    // The IPC channel keeps it running.
    const ask = () => this.#child.connected && this.#child.disconnect();
    this.#closing ??= endChild(this.#child, ask, EXIT_GRACE_MS);
    return this.#closing;
  }

  /** One command at a time. */
  async #ask(command: SentinelCommand, signal: AbortSignal): Promise<void> {
    this.#asked = Promise.withResolvers<void>();
    const { promise, reject } = this.#asked;
    const ended = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_TIMEOUT_MS)]);
    ended.addEventListener('abort', () => reject(ended.reason), { once: true });
    this.#child.send(command, (error) => error && reject(error));
    await promise;
  }

  #receive(answer: SentinelAnswer): void {
    if (answer.op === 'failed') {
      this.#asked.reject(new CapacityError(answer.code, answer.message, answer.fix));
    } else if (answer.op === 'received') {
      const seen = this.#receipts?.receivedAtUs;
      if (!seen?.has(answer.seq)) seen?.set(answer.seq, answer.atUs);
    } else if (answer.op === 'left') {
      this.#left(answer.atUs);
    } else {
      if (answer.op === 'joined') {
        const { worker, atUs: joinedAtUs } = answer;
        this.#receipts = { worker, joinedAtUs, leftAtUs: undefined, receivedAtUs: new Map() };
      } else this.connected = true;
      this.#asked.resolve();
    }
  }

  #left(atUs: number): void {
    this.connected = false;
    if (this.#receipts && !this.#closing) this.#receipts.leftAtUs ??= atUs;
  }
}

/** @returns whether the server counted it among the room's members when it sent at that time */
export function isMember(sentinel: SentinelReceipts | undefined, sentAtUs: number): boolean {
  if (!sentinel || sentinel.joinedAtUs >= sentAtUs) return false;
  return sentinel.leftAtUs === undefined || sentinel.leftAtUs >= sentAtUs;
}
