/** Runs the fleet's commands on its connections: in a fleet process, or in the process of the run. */
import type { CreateClient } from '../client/client.ts';
import { BROADCAST_EVENT_PLAN } from '../client/counted-event.ts';
import { loadParser } from '../client/parser.ts';
import type { FleetAnswer, FleetCommand, FleetSettings, FleetStart } from '../fleet-messages.ts';
import { ProcessState } from './process-state.ts';

interface Clients {
  create: CreateClient;
  close(): void;
}

export class ConnectionHolder {
  state: ProcessState;
  readonly #start: FleetStart;
  readonly #clients: Clients;
  readonly #answer: (answer: FleetAnswer) => void;

  private constructor(start: FleetStart, clients: Clients, answer: (answer: FleetAnswer) => void) {
    this.#start = start;
    this.#clients = clients;
    this.#answer = answer;
    this.state = this.#newState(0);
  }

  static async create(start: FleetStart, answer: (answer: FleetAnswer) => void): Promise<ConnectionHolder> {
    return new ConnectionHolder(start, await loadClients(start.settings), answer);
  }

  /**
   * Runs a command of the engine. If the command throws, its failure is reported, and the other connections are not
   * affected.
   */
  run(command: FleetCommand): void {
    try {
      this.#run(command);
    } catch (error) {
      const failure = { cause: 'fleet_protocol', message: (error as Error).message } as const;
      if ('requestId' in command && command.requestId !== undefined) {
        this.#answer({ op: 'failed', requestId: command.requestId, ...failure });
      } else if ('id' in command) this.#answer({ op: 'refused', id: command.id, ...failure });
    }
  }

  #run(command: FleetCommand): void {
    if (command.op === 'exit') this.close();
    else if (command.op !== 'ask') this.state.connections.run(command);
    else {
      const { requestId, question, given } = command;
      if (question !== 'reset') {
        this.#answer({ op: 'answer', requestId, answer: this.state[question](given as never) });
        return;
      }
      this.state.close();
      this.state = this.#newState(given as number);
      this.#answer({ op: 'answer', requestId, answer: undefined });
    }
  }

  /** Closes all connections and timers. Idempotent. */
  close(): void {
    this.state.close();
    this.#clients.close();
  }

  #newState(firstId: number): ProcessState {
    return new ProcessState(this.#start, firstId, this.#clients.create, this.#answer);
  }
}

/** Loads the chosen client. The official client is loaded only if it is used, because it takes a lot of memory. */
async function loadClients({
  client,
  ledger,
  ownEvent,
  countedEvents = [],
  defaults: { parser },
}: FleetSettings): Promise<Clients> {
  const counted = ledger ? (ownEvent ?? BROADCAST_EVENT_PLAN) : undefined;
  if (client === 'official') {
    const { OfficialClient } = await import('../official/official-client.ts');
    const create: CreateClient = (options, sink, sessions) => new OfficialClient(options, sink, counted, sessions);
    return { create, close: () => {} };
  }
  const { LightClients } = await import('../light/clients.ts');
  const { officialCodec, parserCodec } = await import('../light/socket-io/codec.ts');
  const codec = parser === undefined ? officialCodec : parserCodec(loadParser(parser));
  const light = new LightClients(undefined, codec, counted);
  // Counted events are registered first. Events with other names could otherwise use up the limit of event names.
  for (const { event } of countedEvents) light.events.named(event);
  return { create: light.create.bind(light), close: () => light.close() };
}
