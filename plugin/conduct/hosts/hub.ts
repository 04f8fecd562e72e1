/**
 * The conductor's end of the hosts: lets in those that the run expects, and no other; carries messages to and from their
 * engines; and notices when one is gone. For the run it is a carrier like that between the threads of one process.
 */
import type { Namespace, Socket } from 'socket.io';
import { CapacityError } from '../../../protocol/errors.ts';
import type { Carrier } from '../../../protocol/link/carrier.ts';
import type { EngineMessage, RunMessage } from '../../../protocol/link/messages.ts';
import { type Expected, hostsMissing, whyNotAdmitted, whyNotTogether } from './admission.ts';
import type { Listener } from './listener.ts';
import {
  AGENT_NAMESPACE,
  type AgentMessage,
  type Hello,
  type HubMessage,
  helloSchema,
  type MachineRow,
  SILENT_AFTER_MS,
} from './messages.ts';
import { StandIn } from './stand-in.ts';
import { Stream, type StreamSocket } from './stream.ts';

const AGENT_LOST = 'agent lost';

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
  readonly #expected: Expected;
  readonly #events: HubEvents;
  readonly #namespace: Namespace;
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
    this.#expected = expected;
    this.#events = events;
    this.#lostAfterMs = lostAfterMs;
    this.#joined.promise.catch(() => {});
    this.#namespace = listener.role(AGENT_NAMESPACE, (socket) => this.#admit(socket));
    this.#namespace.on('connection', (socket) => this.#connected(socket));
  }

  get hosts(): readonly HostEntry[] {
    const order = (a: HostEntry, b: HostEntry) => (a.hello.index ?? 0) - (b.hello.index ?? 0);
    return [...this.#agents.values()].sort((a, b) => order(a, b) || a.name.localeCompare(b.name));
  }

  /**
   * Resolves when all hosts are there, each fits its share, and each knows the clock.
   * @throws CapacityError HOSTS_MISSING, or the signal's reason
   */
  async joined(timeoutMs: number, signal: AbortSignal): Promise<void> {
    const timer = setTimeout(() => this.#joined.reject(this.#missing(timeoutMs)), timeoutMs);
    const onAbort = () => this.#joined.reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      await this.#joined.promise;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** Resolves when Artillery has ended on every host, or the host is gone. */
  left(): Promise<void> {
    return this.#left.promise;
  }

  send(message: RunMessage): void {
    if (!this.#isOpen) return;
    if (message.type === 'start') this.#started = true;
    for (const agent of this.#agents.values()) {
      if (agent.left) this.#answerFor(agent, message);
      else {
        for (const engine of agent.engines.values()) engine.noteAsked(message);
        agent.stream.send({ type: 'run', message });
      }
    }
  }

  /** Ends Artillery on all hosts that are left. */
  end(exitCode: number, why: string): void {
    this.#ending = true;
    if (this.#agents.size === 0) this.#left.resolve();
    for (const agent of this.#agents.values()) if (!agent.left) agent.stream.send({ type: 'end', exitCode, why });
  }

  /** Of the carrier: nothing reaches engines any more, or comes from them. Idempotent. */
  close(): void {
    this.#isOpen = false;
  }

  /** Waits for no host any more. Idempotent. */
  stop(): void {
    for (const { silent } of this.#agents.values()) clearTimeout(silent);
  }

  #admit(socket: Socket) {
    const parsed = helloSchema.safeParse(socket.handshake.auth.hello);
    if (!parsed.success) {
      const message = 'the host speaks another protocol';
      return { code: 'HOSTS_DISAGREE' as const, message, fix: 'install the same version on all hosts' };
    }
    const hello = parsed.data;
    const known = this.#agents.get(hello.instance);
    if (known && !known.left) return undefined;
    const others = [...this.#agents.values()].filter(({ left }) => !left || this.#started);
    const refusal = whyNotAdmitted(hello, this.#expected, others);
    if (refusal === undefined) return undefined;
    this.#events.onNote(`Refused ${hello.host}: ${refusal.message}.`);
    if (refusal.endsRun && !this.#started) {
      const { code, message, fix } = refusal;
      this.#refuse(new CapacityError(code, `${hello.host}: ${message}`, fix));
    }
    return refusal;
  }

  #connected(socket: Socket): void {
    const hello = helloSchema.parse(socket.handshake.auth.hello);
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
    const taken = new Set([...this.#agents.values()].map(({ name }) => name));
    const wanted = hello.index === undefined ? hello.host : `${hello.host}/${hello.index}`;
    let name = wanted;
    for (let number = 2; taken.has(name); number++) name = `${wanted} (${number})`;
    const agent: Agent = {
      ...{ name, hello, socket, fits: false, left: false, completed: -1, skippedUsers: 0 },
      ...{ beganAtUs: undefined, lost: undefined, clock: undefined, silent: undefined },
      engines: new Map(),
      stream: new Stream<HubMessage, AgentMessage>((message) => this.#receive(agent, message)),
    };
    this.#agents.set(hello.instance, agent);
    this.#events.onNote(`Host ${name} is here (${this.#agents.size} of ${this.#expected.hosts}).`);
    const disagreement = whyNotTogether([...this.#agents.values()], this.#expected);
    if (disagreement) this.#refuse(disagreement);
    return agent;
  }

  #disconnected(agent: Agent): void {
    if (this.#ending) this.#leave(agent, 'io client disconnect');
    else if (this.#started) this.#awaitBack(agent);
    else this.#lose(agent, 'its connection to the conductor ended before the load');
  }

  #awaitBack(agent: Agent): void {
    this.#events.onNote(`Host ${agent.name} does not answer; waiting for it.`);
    const seconds = this.#lostAfterMs / 1000;
    agent.silent = setTimeout(() => this.#lose(agent, `it has not answered for ${seconds} s`), this.#lostAfterMs);
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
        this.#refuse(new CapacityError(message.code, `${agent.name}: ${message.message}`, message.fix));
        return;
      case 'phase':
        this.#phaseOf(agent, message);
        return;
      case 'machine':
        agent.clock = message.row.clock;
        agent.skippedUsers = message.row.skippedUsers;
        this.#tellSkipped();
        this.#events.onMachine(agent.name, message.row);
        return;
      case 'bye':
        agent.skippedUsers = message.skippedUsers;
        this.#tellSkipped();
        if (message.stopped) this.#lose(agent, 'somebody stopped Artillery there');
        else this.#leave(agent, 'io client disconnect');
    }
  }

  /** An engine knows its host by the kernel, which several hosts of this run may share. */
  #fromEngine(agent: Agent, { from, ...report }: EngineMessage): void {
    const named = { host: agent.name, engine: from.engine };
    let engine = agent.engines.get(from.engine);
    if (!engine) {
      engine = new StandIn(named);
      agent.engines.set(from.engine, engine);
    }
    engine.noteReport(report as EngineMessage);
    if (report.type === 'failed') {
      this.#refuse(new CapacityError(report.code, `${agent.name}: ${report.message}`, report.fix));
    } else if (report.type === 'began') {
      agent.beganAtUs = Math.min(report.beganAtUs, agent.beganAtUs ?? Number.POSITIVE_INFINITY);
    } else this.#deliver({ from: named, ...report } as EngineMessage);
  }

  #phaseOf(agent: Agent, { index, stage }: Extract<AgentMessage, { type: 'phase' }>): void {
    if (stage === 'completed') {
      agent.completed = Math.max(agent.completed, index);
      this.#tellCompleted();
      return;
    }
    if (index <= this.#phase) return;
    this.#phase = index;
    this.#events.onPhase(index, 'started');
  }

  #tellCompleted(): void {
    const present = [...this.#agents.values()].filter(({ left }) => !left);
    if (present.length === 0) return;
    const least = Math.min(...present.map(({ completed }) => completed));
    while (this.#completed < least) this.#events.onPhase(++this.#completed, 'completed');
  }

  #tellSkipped(): void {
    this.#events.onSkipped([...this.#agents.values()].reduce((sum, { skippedUsers }) => sum + skippedUsers, 0));
  }

  #lose(agent: Agent, why: string): void {
    if (agent.left) return;
    agent.lost = why;
    if (!this.#started) {
      const fix = 'see the output of Artillery on that host, then start all hosts again';
      this.#refuse(new CapacityError('HOSTS_MISSING', `${agent.name} is gone: ${why}`, fix));
    } else this.#events.onLost(agent.name, why);
    this.#leave(agent, AGENT_LOST);
  }

  #leave(agent: Agent, reason: string): void {
    agent.left = true;
    clearTimeout(agent.silent);
    const arrivals = agent.hello.arrivals.reduce((sum, count) => sum + count, 0);
    const engines = [...agent.engines.values()];
    for (const [index, engine] of engines.entries()) {
      for (const message of engine.takeOver(reason, index === 0 ? arrivals : 0)) this.#deliver(message);
    }
    this.#tellCompleted();
    if ([...this.#agents.values()].every(({ left }) => left)) this.#left.resolve();
  }

  #answerFor({ engines, lost }: Agent, message: RunMessage): void {
    const reason = lost === undefined ? 'io client disconnect' : AGENT_LOST;
    // After this turn, as no carrier answers before `send` has returned.
    queueMicrotask(() => {
      for (const engine of engines.values()) for (const answer of engine.answer(message, reason)) this.#deliver(answer);
    });
  }

  #deliver(message: EngineMessage): void {
    if (this.#isOpen) this.onMessage(message);
  }

  #refuse(error: CapacityError): void {
    this.#joined.reject(error);
    this.#events.onRefused(error);
  }

  get #isComplete(): boolean {
    return this.#agents.size === this.#expected.hosts && [...this.#agents.values()].every(({ fits }) => fits);
  }

  #missing(timeoutMs: number): CapacityError {
    const unfit = [...this.#agents.values()].filter(({ fits }) => !fits);
    return hostsMissing(this.hosts, unfit, this.#expected, timeoutMs);
  }
}
