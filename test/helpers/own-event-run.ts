/**
 * Measures delivery of the user's own event with real fleet processes and a real server. Only Artillery and the
 * engine are missing.
 */
import assert from 'node:assert/strict';
import type { Server } from 'socket.io';
import { ownEventPlan } from '../../plugin/fleet/client/counted-event.ts';
import { Fleet } from '../../plugin/fleet/fleet.ts';
import type { OpenOptions } from '../../plugin/fleet/fleet-messages.ts';
import { batchRows, deliveryFigures } from '../../plugin/result/delivery/assemble-delivery.ts';
import { latencyFigures } from '../../plugin/result/delivery/assemble-latency.ts';
import { ownEventBroadcasts } from '../../plugin/run/broadcasts/own-event.ts';
import { tryDelivery } from '../../plugin/run/broadcasts/trial.ts';
import { measureBroadcasts } from '../../plugin/run/broadcasts/window.ts';
import { newOwnEvent } from '../../plugin/run/measurements/own-event-measured.ts';
import { Publishers } from '../../plugin/run/receivers/publishers.ts';
import { RunClients } from '../../plugin/run/receivers/run-clients.ts';
import { ENGINE_NAME } from '../../plugin/script/script.ts';
import type { OwnEventDelivery } from '../../plugin/script/settings.ts';
import { openOptions } from '../../plugin/virtual-user/connection-changes.ts';
import { formatJsonPath } from '../../protocol/base/json-path.ts';
import type { ClientKind } from '../../protocol/wire/connection.ts';
import { startChat } from './chat-server.ts';
import { FakeRun } from './fake-run.ts';
import { fleetSettings } from './fleet.ts';
import { snapshot } from './measurements.ts';
import type { Cleaner } from './raw-listen.ts';
import { deliveryReasons } from './verdict.ts';

type Figures = Awaited<ReturnType<typeof measureOwn>>;

interface Expected {
  /** Expected findings of the verdict. */
  codes?: Figures['codes'];
  delivery?: Partial<Figures['delivery']>;
  latency?: { from: Figures['latency']['from'] };
}

/** Measures a new server, and asserts the figures. */
export async function assertOwn(
  t: Cleaner,
  setUp: (io: Server) => void,
  options: Omit<Options, 'url'>,
  { codes = [], delivery = {}, latency }: Expected = {},
): Promise<Figures> {
  const { url } = await startChat(t, setUp);
  const found = await measureOwn({ url, ...options });
  assert.deepEqual(found.codes, codes);
  const keys = Object.keys(delivery) as (keyof typeof delivery)[];
  assert.deepEqual(Object.fromEntries(keys.map((key) => [key, found.delivery[key]])), delivery);
  if (latency) assert.equal(found.latency.from, latency.from);
  return found;
}

interface Options {
  url: string;
  /** Value of the option `delivery`. */
  delivery: object;
  /** Other options of the plugin. */
  options?: object;
  client?: ClientKind;
  connections?: number;
  processes?: number;
  /** Namespaces of each connection. */
  namespaces?: string[];
  /** Whether a trial runs before the load, as in a real run. */
  trial?: boolean;
  /** Returns the arguments of the join events of a connection. The index starts at 0. */
  joins?: (index: number) => unknown[][];
  /** Returns overrides and rooms of a connection, and its namespaces if they differ. */
  brings?: (index: number) => { overrides?: OpenOptions['overrides']; rooms?: string[]; namespaces?: string[] };
  /** Called when all connections are open. */
  beforehand?: (fleet: Fleet) => Promise<void> | void;
}

export async function measureOwn({ url, delivery: option, options = {}, client = 'light', ...rest }: Options) {
  const { connections = 10, processes = 1, namespaces = ['/'], trial = false, beforehand } = rest;
  const { joins = () => [['room']], brings } = rest;
  const drain = { quiet: 0.2, deadline: 1.5 };
  const run = new FakeRun({ drain, ...options, delivery: option }, { target: url });
  const { context, measurements } = run;
  const delivery = context.config.delivery as OwnEventDelivery;
  const { event, id, join, publish } = delivery;
  const settings = fleetSettings(url, client);
  const fleet = await Fleet.start({ ...settings, ownEvent: ownEventPlan(delivery) }, processes);
  let publishers: Publishers | undefined;
  try {
    const namespace = namespaces.at(-1);
    const flow = [join === undefined ? { connect: { namespace } } : { emit: [join, 'room'], namespace }];
    const script = { config: { target: url }, scenarios: [{ engine: ENGINE_NAME, flow }] };
    const clients = await RunClients.open(context.config, script);
    if (publish)
      publishers = await Publishers.connect(
        clients,
        { ...publish, hasRooms: delivery.audience !== undefined },
        run.stop.signal,
      );
    const givesIds = publishers?.givesIds ?? false;
    measurements.ownEvent = newOwnEvent(event, formatJsonPath(id), publish ? 'run' : 'server', givesIds);
    if (trial) {
      const others = await tryDelivery(clients.nextReceiver(), delivery, publishers, run.stop.signal);
      if (others) Object.assign(measurements.ownEvent, { others, toPublisher: publishers?.received });
    }
    await Promise.all(
      Array.from({ length: connections }, async (_, index) => {
        const connection = fleet.connection();
        const { overrides, rooms, namespaces: own = namespaces } = brings?.(index) ?? {};
        for (const one of own) {
          await connection.open(one, openOptions(overrides));
          if (rooms) connection.enter(rooms, one);
          if (join === undefined) continue;
          await Promise.all(joins(index).map((args) => connection.emitWithAck(one, join, args, 5000)));
        }
      }),
    );
    await beforehand?.(fleet);
    Object.assign(context, { publishers });
    Object.defineProperty(context.link, 'status', { get: () => ({ ...run.status, ...fleet.status() }) });
    context.link.sight = (watch, outside) => fleet.sight(watch, outside);
    context.link.freeze = (orders) => fleet.freeze(orders);
    await measureBroadcasts(context, ownEventBroadcasts(context, delivery), () => {});
    const { receipts } = await fleet.snapshot();
    measurements.snapshots = [snapshot({ receipts })];
    const figures = deliveryFigures(measurements, batchRows(measurements), context.config);
    const latency = latencyFigures(measurements);
    const reasons = deliveryReasons(figures, latency, measurements);
    return { delivery: figures, latency, reasons, codes: reasons.map(({ code }) => code), measurements };
  } finally {
    publishers?.close();
    await fleet.close();
  }
}
