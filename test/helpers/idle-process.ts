/** A fleet process without a network. Its clients only record requests, and the test reports for them. */
import type { TestContext } from 'node:test';
import {
  type Client,
  type ClientSink,
  ClientTraffic,
  type CreateClient,
  NO_SESSIONS,
  type RecoverableSession,
} from '../../plugin/fleet/client/client.ts';
import { ConnectionAccounts } from '../../plugin/fleet/connection-accounts.ts';
import type {
  ConnectionCommand,
  ConnectionReport,
  FleetAnswer,
  FleetSettings,
  FleetStart,
} from '../../plugin/fleet/fleet-messages.ts';
import { FleetProcess } from '../../plugin/fleet/fleet-process.ts';
import type { RatePacer } from '../../plugin/fleet/pacer.ts';
import { Connection } from '../../plugin/fleet/process/connections/connection.ts';
import type { FleetProcessParts } from '../../plugin/fleet/process/process-parts.ts';
import { ProcessState } from '../../plugin/fleet/process/process-state.ts';
import { RemoteConnection } from '../../plugin/fleet/remote-connection.ts';
import { knownSecrets } from '../../protocol/base/secrets/known-secrets.ts';
import { fleetSettings } from './fleet.ts';

export interface IdleClient extends Client {
  /** Sink of the client's connection. */
  readonly sink: ClientSink;
  namespaces: readonly string[];
  sessions: readonly RecoverableSession[];
  /** Namespaces that the client should open. */
  readonly asked: string[];
  /** Sent events: namespace, event, acknowledgement id. */
  readonly sent: [string, string, number | undefined][];
}

const TIMINGS = { namespaceUs: 1 };

export class IdleProcess {
  readonly state: ProcessState;
  readonly clients: IdleClient[] = [];
  readonly #start: FleetStart;
  #answers: FleetAnswer[] = [];
  #onAnswer: (answer: FleetAnswer) => void = (answer) => void this.#answers.push(answer);
  #leaves: (() => void)[] = [];

  /** @param create creates clients instead of the idle clients */
  constructor(t: TestContext, settings: Partial<FleetSettings> = {}, create?: CreateClient) {
    const start = {
      settings: { ...fleetSettings('http://127.0.0.1:1'), ...settings },
      secrets: knownSecrets(),
      index: 0,
      processes: 1,
    };
    const pacer = { add: (leave: () => void) => void this.#leaves.push(leave), close: () => {} } as RatePacer;
    const idle: CreateClient = (_options, sink, sessions) => idleClient(sink, sessions);
    const noted: CreateClient = (...given) => {
      const client = (create ?? idle)(...given) as IdleClient;
      this.clients.push(client);
      return client;
    };
    this.#start = start;
    this.state = new ProcessState(start, 0, noted, (answer) => this.#onAnswer(answer), pacer);
    t.after(() => this.state.close());
  }

  /** Returns a connection of the engine. It gets all replies from now on. */
  connection(): RemoteConnection {
    const child = new FleetProcess(this.#start, 1000, (_, { onAnswer }) => {
      this.#onAnswer = onAnswer;
      return {
        pid: 0,
        isGathering: false,
        add: (command) => this.run(command as ConnectionCommand),
        close: async () => {},
      };
    });
    const connection = new RemoteConnection(1, child, new ConnectionAccounts(), () => {});
    child.onAnswer = (answer) => connection.receive(answer as ConnectionReport);
    return connection;
  }

  get client(): IdleClient {
    return this.clients.at(-1) as IdleClient;
  }

  run(...commands: ConnectionCommand[]): void {
    for (const command of commands) this.state.connections.run(command);
  }

  /** Closes connections that are waiting to close. */
  leave(): void {
    for (const one of this.#leaves.splice(0)) one();
  }

  /**
   * Accepts a namespace, like a server.
   * @param isFirst whether it is the client's first namespace
   */
  accept(namespace: string, isFirst: boolean, { client = this.client, worker = 'w0', isRecovered = false } = {}): void {
    client.namespaces = client.namespaces.concat(namespace);
    client.sink.onOpen(namespace, `${worker}-a`, isFirst ? TIMINGS : undefined, isRecovered);
  }

  open(id: number, ...namespaces: string[]): void {
    for (const namespace of namespaces) {
      this.run({ op: 'open', id, requestId: id, namespace });
      this.accept(namespace, namespace === namespaces[0]);
    }
  }

  drop(client = this.client): void {
    client.sink.onClosed('transport close', undefined);
  }

  /** Closes one of several namespaces, like a server. */
  end(namespace: string, client = this.client): void {
    client.namespaces = client.namespaces.filter((other) => other !== namespace);
    client.sink.onClosed('io server disconnect', namespace);
  }

  /** Returns the replies since the last call: all of them, or only these kinds. */
  news<Op extends FleetAnswer['op']>(...ops: Op[]): Extract<FleetAnswer, { op: Op }>[] {
    const isAsked = (one: FleetAnswer): one is Extract<FleetAnswer, { op: Op }> => ops.includes(one.op as Op);
    const answers = this.#answers.splice(0);
    return ops.length === 0 ? (answers as Extract<FleetAnswer, { op: Op }>[]) : answers.filter(isAsked);
  }
}

/** Returns a connection without a process. It can only be counted. */
export function loneConnection(changes: Partial<Connection> = {}): Connection {
  return Object.assign(new Connection(1, {} as FleetProcessParts), changes);
}

function idleClient(sink: ClientSink, sessions: readonly RecoverableSession[] = NO_SESSIONS): Client {
  const client: IdleClient = {
    ...{ sink, sessions, namespaces: [], traffic: new ClientTraffic(), interest: undefined, asked: [], sent: [] },
    ...{ transport: 'websocket', isUpgrading: false, isCompressed: false },
    connect: (namespace) => void client.asked.push(namespace),
    emit: (namespace, event, _args, ackId) => void client.sent.push([namespace, event, ackId]),
    repeat: () => false,
    close: () => {},
    destroy: () => {},
  };
  return client;
}
