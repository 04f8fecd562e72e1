/**
 * The engine's side of a fleet process: matches answers with requests, and keeps the status that the process last
 * reported.
 */
import { monotonicUs } from '../../protocol/base/clock/clock.ts';
import { processStartError } from '../../protocol/codes/errors.ts';
import type { FailureCode } from '../../protocol/codes/failure-codes.ts';
import { type FleetChannel, type OpenFleetChannel, openChildChannel } from './channel.ts';
import type { RepeatedMessage } from './client/client.ts';
import { FleetError } from './client/failure.ts';
import type { FleetAnswer, FleetCommand, FleetStart, ProcessQuestions } from './fleet-messages.ts';

type Status = Omit<Extract<FleetAnswer, { op: 'status' }>, 'op'>;

interface Pending {
  resolve: (answer: FleetAnswer) => void;
  reject: (error: Error) => void;
  timer: NodeJS.Timeout | undefined;
  onAnswer: ((answer: FleetAnswer) => void) | undefined;
}

interface RequestOptions {
  /** Whether the command may wait some milliseconds, to share a message with later commands. */
  canWait?: boolean;
  /** Time after which the request fails, and the cause of that failure. */
  timeout?: { ms: number; cause: FailureCode };
  /**
   * Called with the answer to the request, before any later answer is handled. The promise of the request resolves
   * later.
   */
  onAnswer?: (answer: FleetAnswer) => void;
}

const READY = 0;
const NOTHING_NOW = { connecting: 0, connected: 0, upgrading: 0, away: 0, joining: 0, joined: 0, loopLateMs: 0 };

export class FleetProcess {
  readonly index: number;
  readonly ready: Promise<unknown>;
  alive = true;
  /** Time at which the process died, and how many of its connections were members of a room then. */
  death: { atUs: number; joined: number } | undefined;
  /** Number of connections assigned to the process. */
  connections = 0;
  status: Status = { ...NOTHING_NOW, opened: 0, failedAttempts: 0, received: 0, reached: 0 };
  onAnswer: (answer: FleetAnswer) => void = () => {};
  onExit: () => void = () => {};
  readonly #channel: FleetChannel;
  readonly #answerTimeoutMs: number;
  readonly #pending = new Map<number, Pending>();
  /** Repeated messages that the process already has, with their keys. */
  readonly #messages = new Map<RepeatedMessage, number>();
  #nextRequest = READY + 1;

  /**
   * Opens the channel to a fleet process.
   * @param answerTimeoutMs time after which an unanswered request resolves to undefined
   */
  constructor(start: FleetStart, answerTimeoutMs: number, open: OpenFleetChannel = openChildChannel) {
    this.index = start.index;
    this.#answerTimeoutMs = answerTimeoutMs;
    this.ready = this.#awaitAnswer(READY, {});
    this.#channel = open(start, {
      onAnswer: (answer) => this.#receive(answer),
      onEnd: (error) => this.#die(error),
    });
  }

  get pid(): number {
    return this.#channel.pid;
  }

  /** Whether commands are waiting in a batch that has not been sent. */
  get isGathering(): boolean {
    return this.#channel.isGathering;
  }

  /**
   * Sends commands in order.
   * @param canWait whether the command may wait some milliseconds, to share a message with later commands
   */
  send(command: FleetCommand, canWait = false): void {
    this.#channel.add(command, canWait);
  }

  /**
   * Starts a repeated message on a connection. The message is sent to the process only once, with the first connection
   * that uses it.
   */
  repeat(id: number, message: RepeatedMessage): void {
    const known = this.#messages.get(message);
    const key = known ?? this.#messages.size;
    this.#messages.set(message, key);
    this.send(known === undefined ? { op: 'repeat', id, key, message } : { op: 'repeat', id, key }, true);
  }

  /**
   * Sends a command and waits for its answer.
   * @throws FleetError with code `fleet_dead`, the failure that the process reports, or the cause of the timeout
   */
  request(command: (requestId: number) => FleetCommand, options: RequestOptions = {}): Promise<FleetAnswer> {
    if (!this.alive) return Promise.reject(new FleetError('fleet_dead', 'the fleet process has died'));
    const requestId = this.#nextRequest++;
    // If the channel is in this process, the answer can come before `send` returns.
    const answer = this.#awaitAnswer(requestId, options);
    this.send(command(requestId), options.canWait);
    return answer;
  }

  /**
   * Sends a request to the process and returns its answer; undefined if the process has died or does not answer in
   * time.
   */
  async ask<Q extends keyof ProcessQuestions>(
    question: Q,
    ...given: Parameters<ProcessQuestions[Q]>
  ): Promise<ReturnType<ProcessQuestions[Q]> | undefined> {
    if (question === 'reset') this.#messages.clear();
    const timeout = { ms: this.#answerTimeoutMs, cause: 'fleet_silent' } as const;
    const asked = this.request((requestId) => ({ op: 'ask', requestId, question, given: given[0] }), { timeout });
    const answer = await asked.catch(() => undefined);
    return answer?.op === 'answer' ? (answer.answer as ReturnType<ProcessQuestions[Q]>) : undefined;
  }

  /** Closes the process; resolves when the child has exited. Idempotent. */
  close(): Promise<void> {
    return this.#channel.close();
  }

  #awaitAnswer(requestId: number, { timeout, onAnswer }: RequestOptions): Promise<FleetAnswer> {
    return new Promise((resolve, reject) => {
      const expire = ({ ms, cause }: { ms: number; cause: FailureCode }) =>
        this.#take(requestId)?.reject(new FleetError(cause, `no answer within ${ms} ms`));
      const timer = timeout && setTimeout(expire, timeout.ms, timeout);
      this.#pending.set(requestId, { resolve, reject, timer, onAnswer });
    });
  }

  #receive(answer: FleetAnswer): void {
    if (answer.op === 'status') this.status = answer;
    else if ('requestId' in answer) this.#settle(this.#take(answer.requestId), answer);
    else this.onAnswer(answer);
  }

  #settle(pending: Pending | undefined, answer: FleetAnswer): void {
    pending?.onAnswer?.(answer);
    if (answer.op !== 'failed') pending?.resolve(answer);
    else pending?.reject(new FleetError(answer.cause, answer.message, answer.data, answer.after));
  }

  #take(requestId: number): Pending | undefined {
    const pending = this.#pending.get(requestId);
    this.#pending.delete(requestId);
    clearTimeout(pending?.timer);
    return pending;
  }

  #die(cause?: Error): void {
    if (!this.alive) return;
    this.alive = false;
    this.death = { atUs: monotonicUs(), joined: this.status.joined };
    this.status = { ...this.status, ...NOTHING_NOW };
    const error = processStartError(cause) ?? new FleetError('fleet_dead', 'the fleet process has died');
    for (const requestId of [...this.#pending.keys()]) this.#take(requestId)?.reject(error);
    this.onExit();
  }
}
