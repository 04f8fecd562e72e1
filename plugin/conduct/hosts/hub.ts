/**
 * The conductor's end of the hosts: lets in those that the run expects, and no other; carries messages to and from their
 * engines; and notices when one is gone. For the run it is a carrier like that between the threads of one process.
 */
import { addAbortListener } from 'node:events';
import type { Socket } from 'socket.io';
import { within } from '../../../protocol/base/within.ts';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import type { Carrier } from '../../../protocol/link/carrier.ts';
import type { EngineMessage, RunMessage } from '../../../protocol/link/link-messages.ts';
import { type Expected, hostsMissing, whyNotAdmitted, whyNotTogether } from './admission.ts';
import { Host } from './host.ts';
import {
  type AgentMessage,
  agentMessageSchema,
  authSchema,
  type Hello,
  type HubMessage,
  type MachineRow,
  type Refusal,
  SILENT_AFTER_MS,
} from './host-messages.ts';
import type { Listener } from './listener.ts';
import { Stream, type StreamSocket } from './stream.ts';

export interface HubEvents {
  /** Printed for the user. */
  onNote(text: string): void;
  /** Before the load: the run cannot take place. */
  onRefused(error: CapacityError): void;
  /** A phase has begun on a first host; has ended on the last. */
  onPhase(index: number, stage: 'started' | 'completed'): void;
  /** The load has begun, and a host is gone. */
  onLost(host: string, why: string): void;
  onMachine(host: Host, row: MachineRow): void;
  /** All hosts together, so far. */
  onSkipped(users: number): void;
}

export class Hub implements Carrier<RunMessage, EngineMessage> {
  onMessage: (message: EngineMessage) => void = () => {};
  readonly #run: string;
  readonly #expected: Expected;
  readonly #events: HubEvents;
  readonly #lostAfterMs: number;
  readonly #known = new Map<string, Host>();
  readonly #joined = Promise.withResolvers<true>();
  readonly #left = Promise.withResolvers<void>();
  /** Highest index that has begun anywhere. */
  #phase = -1;
  #completed = -1;
  #started = false;
  #ending = false;
  #isOpen = true;
  #hasRefusedPacket = false;

  constructor(listener: Listener, expected: Expected, events: HubEvents, lostAfterMs = SILENT_AFTER_MS) {
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

  get hosts(): readonly Host[] {
    const order = (a: Host, b: Host) => (a.hello.index ?? 0) - (b.hello.index ?? 0);
    return this.#all.sort((a, b) => order(a, b) || a.name.localeCompare(b.name));
  }

  /**
   * Resolves when all hosts are there, each fits its share, and each knows the clock.
   * @throws CapacityError HOSTS_MISSING, or the signal's reason
   */
  async joined(timeoutMs: number, signal: AbortSignal): Promise<void> {
    const aborted = addAbortListener(signal, () => this.#joined.reject(signal.reason));
    try {
      const isJoined = await within(this.#joined.promise, timeoutMs);
      if (!isJoined) throw hostsMissing(this.hosts, this.#expected, timeoutMs);
    } finally {
      aborted[Symbol.dispose]();
    }
  }

  /** Resolves when Artillery has ended on every host, or the host is gone. */
  left(): Promise<void> {
    return this.#left.promise;
  }

  send(message: RunMessage): void {
    if (!this.#isOpen) return;
    if (message.type === 'start') this.#started = true;
    for (const host of this.#all) {
      if (!host.left) host.ask(message);
      // After this turn, as no carrier answers before `send` has returned.
      else queueMicrotask(() => this.#deliver(...host.answersTo(message)));
    }
  }

  /** Ends Artillery on all hosts that are left. @param exitCode of theirs: none of them has done its part */
  end(exitCode: number, why: string): void {
    this.#ending = true;
    if (this.#known.size === 0) this.#left.resolve();
    for (const host of this.#all) if (!host.left) host.stream.send({ type: 'end', exitCode, why });
  }

  /** Closes the carrier: nothing reaches engines any more, or comes from them. Idempotent. */
  close(): void {
    this.#isOpen = false;
  }

  /** Waits for no host any more. Idempotent. */
  stop(): void {
    this.#ending = true;
    for (const host of this.#all) host.stopWaiting();
  }

  get #all(): Host[] {
    return [...this.#known.values()];
  }

  #refuse(socket: Socket): Refusal | undefined {
    const auth = authSchema.safeParse(socket.handshake.auth);
    if (!auth.success) {
      const message = 'the host speaks another protocol';
      return { code: 'HOSTS_DISAGREE', message, fix: 'install the same version on all hosts' };
    }
    const { hello, run } = auth.data;
    socket.data = hello;
    const known = this.#known.get(hello.instance);
    // Also one that has said goodbye, and has not heard that it came.
    if (known && (known.lost === undefined || known.hasSaidGoodbye)) return undefined;
    const others = this.#all.filter(({ left }) => !left || this.#started);
    const isOld = run !== undefined && run !== this.#run;
    const refusal = whyNotAdmitted(hello, this.#expected, others, known?.lost, isOld);
    if (refusal === undefined) return undefined;
    this.#events.onNote(`Refused ${hello.host}: ${refusal.message}.`);
    if (refusal.endsRun && !this.#started) {
      const { code, message, fix } = refusal;
      this.#fail(new CapacityError(code, `${hello.host}: ${message}`, fix));
    }
    return refusal;
  }

  #connected(socket: Socket): void {
    const hello: Hello = socket.data;
    const host = this.#known.get(hello.instance) ?? this.#add(hello);
    if (host.isAwaited) this.#events.onNote(`Host ${host.name} is back.`);
    host.stopWaiting();
    host.socket = socket;
    host.stream.attach(socket as unknown as StreamSocket);
    socket.on('disconnect', () => {
      if (host.socket === socket && !host.left) this.#disconnected(host);
    });
  }

  #add(hello: Hello): Host {
    const taken = new Set(this.#all.map(({ name }) => name));
    const wanted = hello.index === undefined ? hello.host : `${hello.host}/${hello.index}`;
    let name = wanted;
    for (let number = 2; taken.has(name); number++) name = `${wanted} (${number})`;
    const stream = new Stream<HubMessage, AgentMessage>({
      schema: agentMessageSchema,
      onMessage: (message) => this.#receive(host, message),
      onMalformed: (problem) => this.#garbled(host, problem),
    });
    const host = new Host(name, hello, stream);
    this.#known.set(hello.instance, host);
    this.#events.onNote(`Host ${name} is here (${this.#known.size} of ${this.#expected.hosts}).`);
    const disagreement = whyNotTogether(this.#all, this.#expected);
    if (disagreement) this.#fail(disagreement);
    return host;
  }

  #disconnected(host: Host): void {
    if (this.#ending) {
      // Whoever has not heard why yet comes back for it.
      if (host.stream.pending === 0) this.#leave(host);
    } else if (!this.#started) this.#lose(host, 'its connection to the conductor ended before the load');
    else {
      this.#events.onNote(`Host ${host.name} does not answer; waiting for it.`);
      const why = `it has not answered for ${this.#lostAfterMs / 1000} s`;
      host.awaitBack(this.#lostAfterMs, () => this.#lose(host, why));
    }
  }

  /** What it was asked for stays unanswered, which the run notices. */
  #garbled(host: Host, problem: string): void {
    if (!host.garbled) this.#events.onNote(`Ignored an invalid message of host ${host.name}: ${problem}`);
    host.garbled = true;
  }

  /** The host connects again: one that goes on sending such packets is reported once. */
  #refusedPacket(problem: string): void {
    if (!this.#hasRefusedPacket) this.#events.onNote(`Closed the connection of a host, which sent ${problem}.`);
    this.#hasRefusedPacket = true;
  }

  #receive(host: Host, message: AgentMessage): void {
    if (host.left) return;
    switch (message.type) {
      case 'engine':
        this.#fromEngine(host, message.message);
        return;
      case 'fits':
        host.fits = true;
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
        if (message.stopped) this.#lose(host, 'somebody stopped Artillery there');
        else this.#leave(host);
    }
  }

  #fromEngine(host: Host, report: EngineMessage): void {
    const message = host.named(report);
    if (!message) this.#garbled(host, 'it has too many engines');
    else if (message.type === 'failed') {
      this.#fail(new CapacityError(message.code, `${host.name}: ${message.message}`, message.fix));
    } else if (message.type !== 'began') this.#deliver(message);
  }

  #phaseOf(host: Host, { index, stage }: Extract<AgentMessage, { type: 'phase' }>): void {
    if (index >= this.#expected.arrivals.length) this.#garbled(host, `there is no phase ${index}`);
    else if (stage === 'completed') {
      host.completed = Math.max(host.completed, index);
      this.#tellCompleted();
    } else if (index > this.#phase) {
      this.#phase = index;
      this.#events.onPhase(index, 'started');
    }
  }

  #tellCompleted(): void {
    const present = this.#all.filter(({ left }) => !left);
    if (present.length === 0) return;
    const least = Math.min(...present.map(({ completed }) => completed));
    while (this.#completed < least) this.#events.onPhase(++this.#completed, 'completed');
  }

  #skipped(host: Host, users: number): void {
    host.skippedUsers = users;
    this.#events.onSkipped(this.#all.reduce((sum, { skippedUsers }) => sum + skippedUsers, 0));
  }

  #lose(host: Host, why: string): void {
    if (host.left) return;
    host.lost = why;
    if (!this.#started) {
      const fix = 'see the output of Artillery on that host, then start all hosts again';
      this.#fail(new CapacityError('HOSTS_MISSING', `${host.name} is gone: ${why}`, fix));
    } else this.#events.onLost(host.name, why);
    this.#leave(host);
  }

  #leave(host: Host): void {
    this.#deliver(...host.leave());
    this.#tellCompleted();
    if (this.#all.every(({ left }) => left)) this.#left.resolve();
  }

  #deliver(...messages: EngineMessage[]): void {
    for (const message of messages) if (this.#isOpen) this.onMessage(message);
  }

  #fail(error: CapacityError): void {
    this.#joined.reject(error);
    this.#events.onRefused(error);
  }

  get #isComplete(): boolean {
    return this.#known.size === this.#expected.hosts && this.#all.every(({ fits }) => fits);
  }
}
