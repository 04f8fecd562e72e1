/** Both clients of the fleet, for tests that hold for either. */
import { after } from 'node:test';
import type { Client, ClientOptions, ClientSink } from '../../plugin/fleet/client/client.ts';
import { LightClients } from '../../plugin/fleet/light/clients.ts';
import { dialSocket } from '../../plugin/fleet/light/sockets/dial.ts';
import { createOfficialClient } from '../../plugin/fleet/official/client.ts';

export interface ClientKindUnderTest {
  name: string;
  transports: ClientOptions['transports'];
  create(slot: number, options: ClientOptions, sink: ClientSink): Client;
}

const light = new LightClients();
const lightOnSockets = new LightClients(dialSocket);
const official: Client[] = [];
after(() => {
  light.close();
  lightOnSockets.close();
  for (const client of official) client.destroy();
});

function createOfficial(slot: number, options: ClientOptions, sink: ClientSink): Client {
  const client = createOfficialClient(slot, options, sink);
  official.push(client);
  return client;
}

export const lightClient: ClientKindUnderTest = {
  name: 'light client',
  transports: ['websocket'],
  create: light.create.bind(light),
};
export const lightClientOnSockets: ClientKindUnderTest = {
  name: 'light client on public sockets',
  transports: ['websocket'],
  create: lightOnSockets.create.bind(lightOnSockets),
};
export const lightPollingClient: ClientKindUnderTest = {
  name: 'light client, polling',
  transports: ['polling'],
  create: light.create.bind(light),
};
export const lightUpgradingClient: ClientKindUnderTest = {
  name: 'light client, polling with upgrade',
  transports: ['polling', 'websocket'],
  create: light.create.bind(light),
};
export const lightUpgradingClientOnSockets: ClientKindUnderTest = {
  name: 'light client on public sockets, polling with upgrade',
  transports: ['polling', 'websocket'],
  create: lightOnSockets.create.bind(lightOnSockets),
};
export const officialClient: ClientKindUnderTest = {
  name: 'official client',
  transports: ['websocket'],
  create: createOfficial,
};
export const pollingClient: ClientKindUnderTest = {
  name: 'official client, polling',
  transports: ['polling'],
  create: createOfficial,
};
export const upgradingClient: ClientKindUnderTest = {
  name: 'official client, polling with upgrade',
  transports: ['polling', 'websocket'],
  create: createOfficial,
};
