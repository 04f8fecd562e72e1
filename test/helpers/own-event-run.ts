/** The measurement of an own event, with a real fleet and a real server: everything but Artillery and the engine. */
import { Fleet } from '../../plugin/fleet/fleet.ts';
import { batchRows, deliveryFigures } from '../../plugin/result/delivery/delivery.ts';
import { latencyFigures } from '../../plugin/result/delivery/latency.ts';
import { newOwnEvent } from '../../plugin/run/measurements/own-event.ts';
import { tryDelivery } from '../../plugin/run/own-event/trial.ts';
import { measureOwnEvent } from '../../plugin/run/own-event/window.ts';
import { OwnClients } from '../../plugin/run/receivers/own-clients.ts';
import { Publishers } from '../../plugin/run/receivers/publishers.ts';
import { ENGINE } from '../../plugin/script/script.ts';
import type { Delivery } from '../../plugin/script/settings.ts';
import type { ClientKind } from '../../protocol/connection.ts';
import { formatJsonPath } from '../../protocol/json-path.ts';
import { FakeRun } from './fake-run.ts';
import { fleetSettings } from './fleet.ts';
import { snapshot } from './measurements.ts';
import { deliveryReasons } from './verdict.ts';

interface Options {
  url: string;
  /** The option `delivery`. */
  delivery: object;
  /** Other options of the plugin. */
  options?: object;
  client?: ClientKind;
  connections?: number;
  processes?: number;
  /** Listen once before the load, as a run does. */
  trial?: boolean;
  /** When the connections are there. */
  beforehand?: (fleet: Fleet) => Promise<void> | void;
}

export async function measureOwn({ url, delivery: option, options = {}, client = 'light', ...rest }: Options) {
  const { connections = 10, processes = 1, trial = false, beforehand } = rest;
  const drain = { quiet: 0.2, deadline: 1.5 };
  const run = new FakeRun({ drain, ...options, delivery: option }, { target: url });
  const { context, measurements } = run;
  const delivery = context.config.delivery as Delivery;
  const { event, id, sentAt, bytes, join, publish } = delivery;
  const settings = fleetSettings(url, client);
  const fleet = await Fleet.start({ ...settings, ownEvent: { event, id, sentAt, bytes, join } }, processes);
  let publishers: Publishers | undefined;
  try {
    const flow = [join === undefined ? { connect: {} } : { emit: [join, 'room'] }];
    const script = { config: { target: url }, scenarios: [{ engine: ENGINE, flow }] };
    const clients = await OwnClients.open(context.config, script);
    if (publish) publishers = await Publishers.connect(clients, publish, 'run', run.stop.signal);
    const givesIds = publishers?.givesIds ?? false;
    measurements.ownEvent = newOwnEvent(event, formatJsonPath(id), publish ? 'run' : 'server', givesIds);
    if (trial) await tryDelivery(clients.nextReceiver(), delivery, publishers, run.stop.signal);
    await Promise.all(
      Array.from({ length: connections }, () =>
        fleet.connection().open('/', join === undefined ? {} : { emit: { event: join, args: ['room'] } }),
      ),
    );
    await beforehand?.(fleet);
    Object.assign(context, { publishers });
    Object.defineProperty(context.link, 'status', { get: () => ({ ...run.status, ...fleet.status() }) });
    context.link.sight = (watch, outside) => fleet.sight(watch, outside);
    context.link.freeze = (orders) => fleet.freeze(orders);
    await measureOwnEvent(context, delivery, () => {});
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
