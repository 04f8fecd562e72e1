/**
 * The conductor's connections to its hosts. It admits the expected hosts, forwards messages to and from their engines,
 * and detects lost hosts. The run uses it like the message channel between the threads of one process.
 */
import { addAbortListener } from 'node:events';
import type { Socket } from 'socket.io';
import { resultWithin } from '../../../protocol/base/within.ts';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import type { MessageCarrier } from '../../../protocol/link/carrier.ts';
import type { EngineMessage, RunMessage } from '../../../protocol/link/link-messages.ts';
import { admissionRefusal, type ExpectedHosts, hostsMissingError, shareMismatch } from './admission.ts';
import { JoinedHost } from './host.ts';
import {
  type AgentMessage,
  agentMessageSchema,
  type HostHello,
  type HostRefusalReason,
  type HubMessage,
  hostAuthSchema,
  MAX_HOST_SILENCE_MS,
  type MachineRow,
} from './host-messages.ts';
import type { ConductorListener } from './listener.ts';
import { ReliableStream, type ReliableStreamSocket } from './stream.ts';

export interface HostHubEvents {
  onNote(text: string): void;
  /** Called when the run cannot start, or when an engine has failed. */
  onRefused(error: CapacityError): void;
  /** Called when the first host has started a phase, and when the last host has completed a phase. */
  onPhase(index: number, stage: 'started' | 'completed'): void;
  /** Called when a host is lost during or after the load. */
  onLost(host: string, why: string): void;
  onMachine(host: JoinedHost, row: MachineRow): void;
  /**
   * Called when Artillery has skipped arrivals.
   * @param users number of arrivals skipped so far, on all hosts
   */
  onSkipped(users: number): void;
}

export class HostHub implements MessageCarrier<RunMessage, EngineMessage> {
  onMessage: (message: EngineMessage) => void = () => {};
  readonly #run: string;
  readonly #expected: ExpectedHosts;
  readonly #events: HostHubEvents;
  readonly #lostAfterMs: number;
  readonly #known = new Map<string, JoinedHost>();
  readonly #joined = Promise.withResolvers<true>();
  readonly #left = Promise.withResolvers<void>();
  /** Highest phase that has started on any host. */
  #startedPhase = -1;
  /** Highest phase that has completed on all hosts. */
  #completedPhase = -1;
  /** Skipped arrivals of all hosts. */
  #skippedUsers = 0;
  #started = false;
  #ending = false;
  #isOpen = true;
  #hasRefusedPacket = false;

  constructor(
    listener: ConductorListener,
    expected: ExpectedHosts,
    events: HostHubEvents,
    lostAfterMs = MAX_HOST_SILENCE_MS,
  ) {
    this.#run = listener.run;
    this.#expected = expected;
    this.#events = events;
    this.#lostAfterMs = lostAfterMs;
    this.#joined.promise.catch(() => {});
    listener.serve(
      (socket) => this.#refuse(socket),
      (socket) => this.#connected(socket),
      (problem) => this.#refusedPacket(problem),
    );
  }

  get hosts(): readonly JoinedHost[] {
    const order = (a: JoinedHost, b: JoinedHost) => (a.hello.index ?? 0) - (b.hello.index ?? 0);
    return this.#all.sort((a, b) => order(a, b) || a.name.localeCompare(b.name));
  }

  /**
   * Resolves when all hosts have joined and are ready.
   * @throws CapacityError HOSTS_MISSING, or the signal's reason
   */
  async joined(timeoutMs: number, signal: AbortSignal): Promise<void> {
    const aborted = addAbortListener(signal, () => this.#joined.reject(signal.reason));
    try {
      const isJoined = await resultWithin(this.#joined.promise, timeoutMs);
      if (!isJoined) throw hostsMissingError(this.hosts, this.#expected, timeoutMs);
    } finally {
      aborted[Symbol.dispose]();
    }
  }

  /** Resolves when every host has left: Artillery has ended on the host, or the host is lost. */
  left(): Promise<void> {
    return this.#left.promise;
  }

  send(message: RunMessage): void {
    if (!this.#isOpen) return;
    if (message.type === 'start') this.#started = true;
    for (const host of this.#all) {
      if (!host.hasLeft) host.send(message);
      // The replies are delivered in a microtask, because callers expect no reply before `send` has returned.
      else queueMicrotask(() => this.#deliver(...host.answersTo(message)));
    }
  }

  /**
   * Ends Artillery on all remaining hosts.
   * @param exitCode exit code of Artillery on the hosts
   */
  end(exitCode: number, why: string): void {
    this.#ending = true;
    if (this.#known.size === 0) this.#left.resolve();
    for (const host of this.#all) if (!host.hasLeft) host.stream.send({ type: 'end', exitCode, why });
  }

  /** Stops forwarding messages to and from the engines. Idempotent. */
  close(): void {
    this.#isOpen = false;
  }

  /** Stops waiting for disconnected hosts. Idempotent. */
  stop(): void {
    this.#ending = true;
    for (const host of this.#all) host.stopLostTimer();
  }

  get #all(): JoinedHost[] {
    return [...this.#known.values()];
  }

  #refuse(socket: Socket): HostRefusalReason | undefined {
    const auth = hostAuthSchema.safeParse(socket.handshake.auth);
    if (!auth.success) {
      const message = 'the host’s hello is invalid: it probably has another version';
      return { code: 'HOSTS_DISAGREE', message, fix: 'install the same version on all hosts' };
    }
    const { hello, run } = auth.data;
    socket.data = hello;
    const existing = this.#known.get(hello.instance);
    // A host may reconnect after it has announced its end, to send the announcement again if it was not acknowledged.
    if (existing && (existing.lostReason === undefined || existing.hasSaidGoodbye)) return undefined;
    const admitted = this.#all.filter(({ hasLeft }) => !hasLeft || this.#started);
    const isOld = run !== undefined && run !== this.#run;
    const refusal = admissionRefusal(hello, this.#expected, admitted, existing?.lostReason, isOld);
    if (refusal === undefined) return undefined;
    this.#events.onNote(`Refused ${hello.host}: ${refusal.message}.`);
    if (refusal.endsRun && !this.#started) {
      const { code, message, fix } = refusal;
      this.#fail(new CapacityError(code, `${hello.host}: ${message}`, fix));
    }
    return refusal;
  }

  #connected(socket: Socket): void {
    const hello: HostHello = socket.data;
    const host = this.#known.get(hello.instance) ?? this.#add(hello);
    if (host.isAwaited) this.#events.onNote(`Host ${host.name} has reconnected.`);
    host.stopLostTimer();
    host.socket = socket;
    host.stream.attach(socket as unknown as ReliableStreamSocket);
    socket.on('disconnect', () => {
      if (host.socket === socket && !host.hasLeft) this.#disconnected(host);
    });
  }

  #add(hello: HostHello): JoinedHost {
    const usedNames = new Set(this.#all.map(({ name }) => name));
    const baseName = hello.index === undefined ? hello.host : `${hello.host}/${hello.index}`;
    let name = baseName;
    for (let number = 2; usedNames.has(name); number++) name = `${baseName} (${number})`;
    const stream = new ReliableStream<HubMessage, AgentMessage>({
      schema: agentMessageSchema,
      onMessage: (message) => this.#receive(host, message),
      onMalformed: (problem) => this.#noteInvalid(host, problem),
    });
    const host = new JoinedHost(name, hello, stream);
    this.#known.set(hello.instance, host);
    this.#events.onNote(`Host ${name} has joined (${this.#known.size} of ${this.#expected.hosts}).`);
    const mismatch = shareMismatch(this.#all, this.#expected);
    if (mismatch) this.#fail(mismatch);
    return host;
  }

  #disconnected(host: JoinedHost): void {
    if (this.#ending) {
      // A disconnected host that has not yet received `end` will reconnect and receive it.
      if (host.stream.pending === 0) this.#leave(host);
    } else if (!this.#started) this.#lose(host, 'its connection to the conductor closed before the load');
    else {
      this.#events.onNote(`Host ${host.name} does not answer; waiting for it.`);
      const why = `it has not answered for ${this.#lostAfterMs / 1000} s`;
      host.startLostTimer(this.#lostAfterMs, () => this.#lose(host, why));
    }
  }

  /**
   * Reports the first invalid message that a host sends. If the message was a reply, the run notices the missing reply.
   */
  #noteInvalid(host: JoinedHost, problem: string): void {
    if (!host.hasSentInvalidMessage)
      this.#events.onNote(`Ignored an invalid message from host ${host.name}: ${problem}`);
    host.hasSentInvalidMessage = true;
  }

  /** Reports only the first refused packet, because the host reconnects after it and may send the same packet again. */
  #refusedPacket(problem: string): void {
    if (!this.#hasRefusedPacket) this.#events.onNote(`Closed the connection of a host that sent ${problem}.`);
    this.#hasRefusedPacket = true;
  }

  #receive(host: JoinedHost, message: AgentMessage): void {
    if (host.hasLeft) return;
    switch (message.type) {
      case 'engine':
        this.#fromEngine(host, message.message);
        return;
      case 'ready':
        host.isReady = true;
        if (this.#isComplete) this.#joined.resolve(true);
        return;
      case 'refused':
        this.#fail(new CapacityError(message.code, `${host.name}: ${message.message}`, message.fix));
        return;
      case 'phase':
        this.#phaseOf(host, message);
        return;
      case 'machine':
        host.clock = message.row.clock;
        this.#skipped(host, message.row.skippedUsers);
        this.#events.onMachine(host, message.row);
        return;
      case 'bye':
        host.hasSaidGoodbye = true;
        host.totals = message.totals;
        this.#skipped(host, message.skippedUsers);
        if (message.stopped) this.#lose(host, 'the user stopped Artillery there');
        else this.#leave(host);
    }
  }

  #fromEngine(host: JoinedHost, report: EngineMessage): void {
    const message = host.withHostName(report);
    if (!message) this.#noteInvalid(host, 'it has too many engines');
    else if (message.type === 'failed') {
      this.#fail(new CapacityError(message.code, `${host.name}: ${message.message}`, message.fix));
    } else if (message.type !== 'began') this.#deliver(message);
  }

  #phaseOf(host: JoinedHost, { index, stage }: Extract<AgentMessage, { type: 'phase' }>): void {
    if (index >= this.#expected.arrivals.length) this.#noteInvalid(host, `there is no phase ${index}`);
    else if (stage === 'completed') {
      host.completedPhase = Math.max(host.completedPhase, index);
      this.#reportCompleted();
    } else if (index > this.#startedPhase) {
      this.#startedPhase = index;
      this.#events.onPhase(index, 'started');
    }
  }

  #reportCompleted(): void {
    const present = this.#all.filter(({ hasLeft }) => !hasLeft);
    if (present.length === 0) return;
    const completed = Math.min(...present.map(({ completedPhase }) => completedPhase));
    while (this.#completedPhase < completed) this.#events.onPhase(++this.#completedPhase, 'completed');
  }

  #skipped(host: JoinedHost, users: number): void {
    this.#skippedUsers += users - host.skippedUsers;
    host.skippedUsers = users;
    this.#events.onSkipped(this.#skippedUsers);
  }

  #lose(host: JoinedHost, why: string): void {
    if (host.hasLeft) return;
    host.lostReason = why;
    if (!this.#started) {
      const fix = 'see the output of Artillery on that host, then start all hosts again';
      this.#fail(new CapacityError('HOSTS_MISSING', `host ${host.name} is lost: ${why}`, fix));
    } else this.#events.onLost(host.name, why);
    this.#leave(host);
  }

  #leave(host: JoinedHost): void {
    this.#deliver(...host.leave());
    this.#reportCompleted();
    if (this.#all.every(({ hasLeft }) => hasLeft)) this.#left.resolve();
  }

  #deliver(...messages: EngineMessage[]): void {
    for (const message of messages) if (this.#isOpen) this.onMessage(message);
  }

  #fail(error: CapacityError): void {
    this.#joined.reject(error);
    this.#events.onRefused(error);
  }

  get #isComplete(): boolean {
    return this.#known.size === this.#expected.hosts && this.#all.every(({ isReady }) => isReady);
  }
}
