/** Both clients of the generator, for tests of their common behaviour. */
import { after } from 'node:test';
import type { Client, ClientOptions, CreateClient } from '../../plugin/fleet/client/client.ts';
import { BROADCAST_EVENT_PLAN } from '../../plugin/fleet/client/counted-event.ts';
import { LightClients } from '../../plugin/fleet/light/clients.ts';
import { OfficialClient } from '../../plugin/fleet/official/official-client.ts';
import { clientOptions, RecordingSink } from './recording-sink.ts';

export interface ClientKindUnderTest {
  name: string;
  transports: ClientOptions['transports'];
  create: CreateClient;
}

const light = new LightClients(undefined, undefined, BROADCAST_EVENT_PLAN);
const official: Client[] = [];
after(() => {
  light.close();
  for (const client of official) client.destroy();
});

const createLight = light.create.bind(light);
const createOfficial: CreateClient = (options, sink) => {
  const client = new OfficialClient(options, sink, BROADCAST_EVENT_PLAN);
  official.push(client);
  return client;
};

const upgrade: ClientOptions['transports'] = ['polling', 'websocket'];
const kind = (name: string, transports: ClientOptions['transports'], create: CreateClient) => ({
  ...{ name, transports, create },
});

export const lightClient = kind('light client', ['websocket'], createLight);
export const lightPollingClient = kind('light client, polling', ['polling'], createLight);
export const lightUpgradingClient = kind('light client, polling with upgrade', upgrade, createLight);
export const officialClient = kind('official client', ['websocket'], createOfficial);
export const pollingClient = kind('official client, polling', ['polling'], createOfficial);
export const upgradingClient = kind('official client, polling with upgrade', upgrade, createOfficial);

/**
 * Starts a client that connects to a namespace.
 * @returns the client, and the sink that records its reports
 */
export function startClient(kind: ClientKindUnderTest, url: string, changes: Partial<ClientOptions> = {}, to = '/') {
  const sink = new RecordingSink();
  const client = kind.create(clientOptions({ url, transports: kind.transports, ...changes }), sink);
  client.connect(to);
  return { client, sink };
}
