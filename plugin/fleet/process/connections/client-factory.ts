/** Gives connections their clients, and those another one whose source port is in use by another process. */
import type { FailureCode } from '../../../../protocol/codes/failure-codes.ts';
import type { Client, ClientOptions, ClientSink, RecoverableSession } from '../../client/client.ts';
import { MAX_PORT_TRIES, PORT_TAKEN } from '../../client/taken-port.ts';
import type { FleetSettings } from '../../messages.ts';
import { type ConnectionState, namespacesToOpen } from './connection-state.ts';
import { optionsInTurn } from './source-ports.ts';

export type CreateClient = (
  slot: number,
  options: ClientOptions,
  sink: ClientSink,
  sessions?: readonly RecoverableSession[],
) => Client;

export class ClientFactory {
  readonly #create: CreateClient;
  readonly #sink: ClientSink;
  readonly #nextOptions: () => ClientOptions;
  readonly #choosesPorts: boolean;

  /** @param share index of this process among all fleet processes of the run */
  constructor(create: CreateClient, sink: ClientSink, settings: FleetSettings, share: { index: number; of: number }) {
    this.#create = create;
    this.#sink = sink;
    const defaults = { ...settings.defaults, keepsSessions: settings.reconnection !== undefined };
    this.#nextOptions = optionsInTurn(defaults, settings.localAddresses, share);
    this.#choosesPorts = settings.client === 'light';
  }

  create(slot: number, { overrides, home }: ConnectionState): Client {
    return this.#create(slot, this.#options(overrides), this.#sink, home?.away?.sessions);
  }

  /** @returns whether the connection has a new client now, so that its failure need not be reported */
  retryPort(connection: ConnectionState, cause: FailureCode): boolean {
    const failed = connection.client;
    if (!failed || !PORT_TAKEN.has(cause) || connection.portTries >= MAX_PORT_TRIES || !this.#choosesPorts)
      return false;
    const options = this.#options(connection.overrides);
    if (!options.localPort || connection.closeRequestId !== undefined) return false;
    connection.portTries++;
    const client = this.#create(failed.slot, options, this.#sink, connection.home?.away?.sessions);
    client.interest = failed.interest;
    connection.client = client;
    for (const namespace of namespacesToOpen(connection)) client.connect(namespace);
    return true;
  }

  #options(overrides: Partial<ClientOptions> | undefined): ClientOptions {
    const options = this.#nextOptions();
    return overrides ? { ...options, ...overrides } : options;
  }
}
