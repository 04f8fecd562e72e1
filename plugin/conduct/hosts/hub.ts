/**
 * The conductor's end of the hosts: lets in those that the run expects, and no other; carries messages to and from their
 * engines; and notices when one is gone. For the run it is a carrier like that between the threads of one process.
 */
import { addAbortListener } from 'node:events';
import type { Socket } from 'socket.io';
import { CapacityError } from '../../../protocol/errors.ts';
import type { Carrier } from '../../../protocol/link/carrier.ts';
import type { EngineMessage, RunMessage } from '../../../protocol/link/messages.ts';
import { type Expected, hostsMissing, whyNotAdmitted, whyNotTogether } from './admission.ts';
import type { Listener } from './listener.ts';
import {
  type AgentMessage,
  agentMessageSchema,
  authSchema,
  type Hello,
  type HubMessage,
  type MachineRow,
  type Refusal,
  SILENT_AFTER_MS,
} from './messages.ts';
import { StandIn } from './stand-in.ts';
import { Stream, type StreamSocket } from './stream.ts';

const AGENT_LOST = 'agent lost';
const LEFT = 'io client disconnect';
/** Artillery has one for each core. */
const MAX_ENGINES = 10_000;

/** A generator host. */
export interface HostEntry {
  /** Unique in the run: the host's name, with its index where there is one. */
  name: string;
  hello: Hello;
  /** When its first phase began, on the conductor's clock: of its engines, the first one's. */
  beganAtUs: number | undefined;
  /** Why it is gone, if it should not be. */
  lost: string | undefined;
  clock: MachineRow['clock'] | undefined;
}

interface Agent extends HostEntry {
  stream: Stream<HubMessage, AgentMessage>;
  socket: Socket;
  engines: Map<string, StandIn>;
  fits: boolean;
  /** Artillery has ended there. */
  left: boolean;
  /** Highest phase that has begun there, and has ended. */
  completed: number;
  skippedUsers: number;
  silent: NodeJS.Timeout | undefined;
  /** It has sent an invalid message. */
  garbled: boolean;
}

export interface HubEvents {
  /** Printed for the user. */
  onNote(text: string): void;
  /** Before the load: the run cannot take place. */
  onRefused(error: CapacityError): void;
  /** A phase has begun on a first host; has ended on the last. */
  onPhase(index: number, stage: 'started' | 'completed'): void;
  /** The load has begun, and a host is gone. */
  onLost(host: string, why: string): void;
  onMachine(host: string, row: MachineRow): void;
  /** Of all hosts together, so far. */
  onSkipped(users: number): void;
}

export class Hub implements Carrier<RunMessage, EngineMessage> {
  onMessage: (message: EngineMessage) => void = () => {};
  readonly #run: string;
  readonly #expected: Expected;
  readonly #events: HubEvents;
  readonly #lostAfterMs: number;
  readonly #agents = new Map<string, Agent>();
  readonly #joined = Promise.withResolvers<void>();
  readonly #left = Promise.withResolvers<void>();
  /** Highest index that has begun anywhere. */
  #phase = -1;
  #completed = -1;
  #started = false;
  #ending = false;
  #isOpen = true;

  constructor(listener: Listener, expected: Expected, events: HubEvents, lostAfterMs = SILENT_AFTER_MS) {
    this.#run = listener.run;
    this.#expected = expected;
    this.#events = events;
    this.#lostAfterMs = lostAfterMs;
    this.#joined.promise.catch(() => {});
    listener.serve(
      (socket) => this.#refuse(socket),
      (socket) => this.#connected(socket),
    );
  }

  get hosts(): readonly HostEntry[] {
    const order = (a: HostEntry, b: HostEntry) => (a.hello.index ?? 0) - (b.hello.index ?? 0);
    return this.#all.sort((a, b) => order(a, b) || a.name.localeCompare(b.name));
  }

  /**
   * Resolves when all hosts are there, each fits its share, and each knows the clock.
   * @throws CapacityError HOSTS_MISSING, or the signal's reason
   */
  async joined(timeoutMs: number, signal: AbortSignal): Promise<void> {
    const timer = setTimeout(() => this.#joined.reject(this.#missing(timeoutMs)), timeoutMs);
    const aborted = addAbortListener(signal, () => this.#joined.reject(signal.reason));
    try {
      await this.#joined.promise;
    } finally {
      clearTimeout(timer);
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
    for (const agent of this.#all) {
      if (agent.left) this.#answerFor(agent, message);
      else {
        for (const engine of agent.engines.values()) engine.noteAsked(message);
        agent.stream.send({ type: 'run', message });
      }
    }
  }

  /** Ends Artillery on all hosts that are left. @param exitCode of theirs: none of them has done its part */
  end(exitCode: number, why: string): void {
    this.#ending = true;
    if (this.#agents.size === 0) this.#left.resolve();
    for (const agent of this.#all) if (!agent.left) agent.stream.send({ type: 'end', exitCode, why });
  }

  /** Of the carrier: nothing reaches engines any more, or comes from them. Idempotent. */
  close(): void {
    this.#isOpen = false;
  }

  /** Waits for no host any more. Idempotent. */
  stop(): void {
    this.#ending = true;
    for (const { silent } of this.#all) clearTimeout(silent);
  }

  get #all(): Agent[] {
    return [...this.#agents.values()];
  }

  #refuse(socket: Socket): Refusal | undefined {
    const auth = authSchema.safeParse(socket.handshake.auth);
    if (!auth.success) {
      const message = 'the host speaks another protocol';
      return { code: 'HOSTS_DISAGREE', message, fix: 'install the same version on all hosts' };
    }
    const { hello, run } = auth.data;
    socket.data = hello;
    const known = this.#agents.get(hello.instance);
    if (known && !known.left) return undefined;
    const others = this.#all.filter(({ left }) => !left || this.#started);
    const isOld = run !== undefined && run !== this.#run;
    const refusal = whyNotAdmitted(hello, this.#expected, others, isOld);
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
    const agent = this.#agents.get(hello.instance) ?? this.#add(hello, socket);
    if (agent.silent) this.#events.onNote(`Host ${agent.name} is back.`);
    clearTimeout(agent.silent);
    agent.silent = undefined;
    agent.socket = socket;
    agent.stream.attach(socket as unknown as StreamSocket);
    socket.on('disconnect', () => {
      if (agent.socket === socket && !agent.left) this.#disconnected(agent);
    });
  }

  #add(hello: Hello, socket: Socket): Agent {
    const taken = new Set(this.#all.map(({ name }) => name));
    const wanted = hello.index === undefined ? hello.host : `${hello.host}/${hello.index}`;
    let name = wanted;
    for (let number = 2; taken.has(name); number++) name = `${wanted} (${number})`;
    const agent: Agent = {
      ...{ name, hello, socket, fits: false, left: false, completed: -1, skippedUsers: 0, garbled: false },
      ...{ beganAtUs: undefined, lost: undefined, clock: undefined, silent: undefined },
      engines: new Map(),
      stream: new Stream<HubMessage, AgentMessage>({
        schema: agentMessageSchema,
        onMessage: (message) => this.#receive(agent, message),
        onMalformed: (problem) => this.#garbled(agent, problem),
      }),
    };
    this.#agents.set(hello.instance, agent);
    this.#events.onNote(`Host ${name} is here (${this.#agents.size} of ${this.#expected.hosts}).`);
    const disagreement = whyNotTogether(this.#all, this.#expected);
    if (disagreement) this.#fail(disagreement);
    return agent;
  }

  #disconnected(agent: Agent): void {
    if (this.#ending) this.#leave(agent, LEFT);
    else if (this.#started) this.#awaitBack(agent);
    else this.#lose(agent, 'its connection to the conductor ended before the load');
  }

  #awaitBack(agent: Agent): void {
    this.#events.onNote(`Host ${agent.name} does not answer; waiting for it.`);
    const seconds = this.#lostAfterMs / 1000;
    agent.silent = setTimeout(() => this.#lose(agent, `it has not answered for ${seconds} s`), this.#lostAfterMs);
  }

  /** What it was asked for stays unanswered, which the run notices. */
  #garbled(agent: Agent, problem: string): void {
    if (!agent.garbled) this.#events.onNote(`Ignored an invalid message of host ${agent.name}: ${problem}`);
    agent.garbled = true;
  }

  #receive(agent: Agent, message: AgentMessage): void {
    if (agent.left) return;
    switch (message.type) {
      case 'engine':
        this.#fromEngine(agent, message.message);
        return;
      case 'fits':
        agent.fits = true;
        if (this.#isComplete) this.#joined.resolve();
        return;
      case 'refused':
        this.#fail(new CapacityError(message.code, `${agent.name}: ${message.message}`, message.fix));
        return;
      case 'phase':
        this.#phaseOf(agent, message);
        return;
      case 'machine':
        agent.clock = message.row.clock;
        this.#skipped(agent, message.row.skippedUsers);
        this.#events.onMachine(agent.name, message.row);
        return;
      case 'bye':
        this.#skipped(agent, message.skippedUsers);
        if (message.stopped) this.#lose(agent, 'somebody stopped Artillery there');
        else this.#leave(agent, LEFT);
    }
  }

  /** An engine knows its host by the kernel, which several hosts of this run may share. */
  #fromEngine(agent: Agent, { from, ...report }: EngineMessage): void {
    const named = { host: agent.name, engine: from.engine };
    let engine = agent.engines.get(from.engine);
    if (!engine) {
      if (agent.engines.size >= MAX_ENGINES) {
        this.#garbled(agent, `it has more than ${MAX_ENGINES} engines`);
        return;
      }
      engine = new StandIn(named);
      agent.engines.set(from.engine, engine);
    }
    engine.noteReport(report);
    if (report.type === 'failed') {
      this.#fail(new CapacityError(report.code, `${agent.name}: ${report.message}`, report.fix));
    } else if (report.type === 'began') {
      agent.beganAtUs = Math.min(report.beganAtUs, agent.beganAtUs ?? Number.POSITIVE_INFINITY);
    } else this.#deliver({ from: named, ...report });
  }

  #phaseOf(agent: Agent, { index, stage }: Extract<AgentMessage, { type: 'phase' }>): void {
    if (index >= this.#expected.arrivals.length) this.#garbled(agent, `there is no phase ${index}`);
    else if (stage === 'completed') {
      agent.completed = Math.max(agent.completed, index);
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

  #skipped(agent: Agent, users: number): void {
    agent.skippedUsers = users;
    this.#events.onSkipped(this.#all.reduce((sum, { skippedUsers }) => sum + skippedUsers, 0));
  }

  #lose(agent: Agent, why: string): void {
    if (agent.left) return;
    agent.lost = why;
    if (!this.#started) {
      const fix = 'see the output of Artillery on that host, then start all hosts again';
      this.#fail(new CapacityError('HOSTS_MISSING', `${agent.name} is gone: ${why}`, fix));
    } else this.#events.onLost(agent.name, why);
    this.#leave(agent, AGENT_LOST);
  }

  #leave(agent: Agent, reason: string): void {
    agent.left = true;
    clearTimeout(agent.silent);
    const arrivals = agent.hello.arrivals.reduce((sum, count) => sum + count, 0);
    for (const [index, engine] of [...agent.engines.values()].entries()) {
      for (const message of engine.takeOver(reason, index === 0 ? arrivals : 0)) this.#deliver(message);
    }
    this.#tellCompleted();
    if (this.#all.every(({ left }) => left)) this.#left.resolve();
  }

  #answerFor({ engines, lost }: Agent, message: RunMessage): void {
    const reason = lost === undefined ? LEFT : AGENT_LOST;
    // After this turn, as no carrier answers before `send` has returned.
    queueMicrotask(() => {
      for (const engine of engines.values()) for (const answer of engine.answer(message, reason)) this.#deliver(answer);
    });
  }

  #deliver(message: EngineMessage): void {
    if (this.#isOpen) this.onMessage(message);
  }

  #fail(error: CapacityError): void {
    this.#joined.reject(error);
    this.#events.onRefused(error);
  }

  get #isComplete(): boolean {
    return this.#agents.size === this.#expected.hosts && this.#all.every(({ fits }) => fits);
  }

  #missing(timeoutMs: number): CapacityError {
    const unfit = this.#all.filter(({ fits }) => !fits);
    return hostsMissing(this.hosts, unfit, this.#expected, timeoutMs);
  }
}
