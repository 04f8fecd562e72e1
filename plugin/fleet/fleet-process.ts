/** One fleet process, seen from its parent: owns the child, batches commands, pairs requests with answers. */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { monotonicUs } from '../../protocol/clock/clock.ts';
import type { FailureCode } from '../../protocol/codes/failure-codes.ts';
import { endChild } from '../../protocol/end-child.ts';
import type { RepeatedMessage } from './client/repeated-message.ts';
import { FleetError } from './fleet-error.ts';
import type { FleetAnswer, FleetCommand, FleetSettings, FleetStart } from './messages.ts';
import { Outbox } from './outbox.ts';

type Status = Omit<Extract<FleetAnswer, { op: 'status' }>, 'op'>;

interface Pending {
  resolve: (answer: FleetAnswer) => void;
  reject: (error: FleetError) => void;
  /** The connection whose end also ends this request, since the answer cannot come after it. */
  connectionId: number | undefined;
  timer: NodeJS.Timeout | undefined;
  onAnswer: ((answer: FleetAnswer) => void) | undefined;
}

export interface RequestLimits {
  /** The connection whose end also ends the request. */
  connectionId?: number;
  timeoutMs: number;
  timeoutCause: FailureCode;
}

/** The most by which batching delays an arrival; at 500/s two or three commands then share one message. */
const FLUSH_DELAY_MS = 5;
/** A child that has not exited by then is killed. */
const EXIT_GRACE_MS = 2000;
const moduleSuffix = import.meta.url.endsWith('.ts') ? '.ts' : '.js';

export class FleetProcess {
  readonly index: number;
  readonly ready: Promise<void>;
  alive = true;
  /** When it died, and how many of its connections were members of a room at that time. */
  death: { atUs: number; joined: number } | undefined;
  /** Connections assigned to it. */
  connections = 0;
  status: Status = {
    ...{ connecting: 0, connected: 0, upgrading: 0, away: 0 },
    ...{ joining: 0, joined: 0, received: 0, reached: 0, loopLateMs: 0 },
  };
  onAnswer: (answer: FleetAnswer) => void = () => {};
  onExit: () => void = () => {};
  readonly #child: ChildProcess;
  readonly #pending = new Map<number, Pending>();
  readonly #ofConnection = new Map<number, Set<number>>();
  readonly #outbox = new Outbox<FleetCommand>(FLUSH_DELAY_MS, (batch) => this.#post(batch));
  /** Those that the process knows, and what they are called there. */
  readonly #messages = new Map<RepeatedMessage, number>();
  #nextRequest = 1;
  #closing: Promise<void> | undefined;

  constructor(settings: FleetSettings, index: number, processes: number) {
    this.index = index;
    this.#child = fork(fileURLToPath(new URL(`./process/main${moduleSuffix}`, import.meta.url)), {
      serialization: 'advanced',
      // Connections live long, so a larger young generation would only cost memory.
      execArgv: ['--disable-warning=ExperimentalWarning', '--max-semi-space-size=2'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const start: FleetStart = { settings, index, processes };
    this.#child.send(start, () => {}); // a failed send shows as the child's exit
    this.ready = new Promise((resolve, reject) => {
      this.#pending.set(0, {
        ...{ resolve: () => resolve(), reject },
        ...{ connectionId: undefined, timer: undefined, onAnswer: undefined },
      });
    });
    this.#child.on('message', (answers: FleetAnswer[]) => this.#receive(answers));
    this.#child.on('error', () => this.#die());
    this.#child.on('exit', () => this.#die());
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** A batch is waiting, so that a further command would share its message. */
  get isGathering(): boolean {
    return this.#outbox.isGathering;
  }

  /** Sends in order. @param canWait lets the command wait some milliseconds for others to share its message */
  send(command: FleetCommand, canWait = false): void {
    this.#outbox.add(command, canWait);
  }

  /** The message itself goes to the process once, before the first connection that sends it. */
  repeat(id: number, message: RepeatedMessage, canWait: boolean): void {
    const known = this.#messages.get(message);
    const key = known ?? this.#messages.size;
    this.#messages.set(message, key);
    this.send(known === undefined ? { op: 'repeat', id, key, message } : { op: 'repeat', id, key }, canWait);
  }

  /** The process has forgotten them. */
  forgetMessages(): void {
    this.#messages.clear();
  }

  /**
   * @param onAnswer called before later answers of the same message are handled; the promise resolves after them
   * @throws FleetError `fleet_dead`, the cause in `limits`, or the error given to `rejectOf`
   */
  request(
    command: (requestId: number) => FleetCommand,
    canWait = false,
    limits?: RequestLimits,
    onAnswer?: (answer: FleetAnswer) => void,
  ): Promise<FleetAnswer> {
    return new Promise((resolve, reject) => {
      if (!this.alive) {
        reject(new FleetError('fleet_dead', 'the fleet process has died'));
        return;
      }
      const requestId = this.#nextRequest++;
      const timer = limits && setTimeout(() => this.#expire(requestId, limits), limits.timeoutMs);
      const connectionId = limits?.connectionId;
      this.#pending.set(requestId, { resolve, reject, connectionId, timer, onAnswer });
      if (connectionId !== undefined) this.#requestsOf(connectionId).add(requestId);
      this.send(command(requestId), canWait);
    });
  }

  /** Rejects the requests of a connection that has ended, if they set `connectionId`: no answer can come any more. */
  rejectOf(connectionId: number, error: FleetError): void {
    for (const requestId of this.#ofConnection.get(connectionId) ?? []) this.#take(requestId)?.reject(error);
  }

  /** Idempotent; resolves when the child has gone. */
  close(): Promise<void> {
    this.#closing ??= endChild(this.#child, () => this.send({ op: 'exit' }), EXIT_GRACE_MS);
    return this.#closing;
  }

  #post(batch: FleetCommand[]): void {
    if (this.#child.connected) this.#child.send(batch, () => {}); // a failed send shows as the child's exit
  }

  #receive(answers: FleetAnswer[]): void {
    for (const answer of answers) {
      if (answer.op === 'status') this.status = answer;
      else if (answer.op === 'ready') this.#take(0)?.resolve(answer);
      else if ('requestId' in answer) this.#settle(this.#take(answer.requestId), answer);
      else this.onAnswer(answer);
    }
  }

  #settle(pending: Pending | undefined, answer: FleetAnswer): void {
    pending?.onAnswer?.(answer);
    pending?.resolve(answer);
  }

  #take(requestId: number): Pending | undefined {
    const pending = this.#pending.get(requestId);
    this.#pending.delete(requestId);
    clearTimeout(pending?.timer);
    if (pending?.connectionId !== undefined) {
      const requests = this.#requestsOf(pending.connectionId);
      requests.delete(requestId);
      if (requests.size === 0) this.#ofConnection.delete(pending.connectionId);
    }
    return pending;
  }

  #requestsOf(connectionId: number): Set<number> {
    let requests = this.#ofConnection.get(connectionId);
    if (!requests) {
      requests = new Set();
      this.#ofConnection.set(connectionId, requests);
    }
    return requests;
  }

  #expire(requestId: number, { timeoutCause, timeoutMs }: RequestLimits): void {
    this.#take(requestId)?.reject(new FleetError(timeoutCause, `no answer within ${timeoutMs} ms`));
  }

  #die(): void {
    if (!this.alive) return;
    this.alive = false;
    this.death = { atUs: monotonicUs(), joined: this.status.joined };
    this.status = {
      ...this.status,
      connecting: 0,
      connected: 0,
      upgrading: 0,
      away: 0,
      joining: 0,
      joined: 0,
      loopLateMs: 0,
    };
    for (const requestId of [...this.#pending.keys()]) {
      this.#take(requestId)?.reject(new FleetError('fleet_dead', 'the fleet process has died'));
    }
    this.onExit();
  }
}
