/** Opens the run's own clients. If the server refuses them, reports which measurements are missing. */

import { formatJsonPath } from '../../protocol/base/json-path.ts';
import { CapacityError } from '../../protocol/codes/errors.ts';
import type { OwnEventDelivery, Settings } from '../script/settings.ts';
import { tryDelivery } from './broadcasts/trial.ts';
import type { ResourceClosers } from './closers.ts';
import type { RunContext } from './context.ts';
import { newOwnEvent } from './measurements/own-event-measured.ts';
import { connectClient } from './receivers/connect-client.ts';
import { RefusedError } from './receivers/explain-failure.ts';
import { Publishers } from './receivers/publishers.ts';
import { ReferenceReceiver } from './receivers/reference-receiver.ts';
import { RoundTripProbe, substituteProbe } from './receivers/round-trip-probe.ts';
import type { RunClients } from './receivers/run-clients.ts';
import type { RunTarget } from './target/target.ts';

type Opening = Pick<RunContext, 'measurements' | 'signal'> & {
  closers: ResourceClosers;
  log: (text: string) => void;
};

/**
 * Connects the first client, to check before the load that the target is a Socket.IO server. If the server has control
 * ports, this client stays connected as the probe.
 * @returns the probe; `refusal` if the server refused the client
 * @throws CapacityError TARGET_UNREACHABLE
 */
export async function openProbe(
  clients: RunClients,
  target: RunTarget,
  signal: AbortSignal,
): Promise<{ probe: RunContext['probe']; refusal?: RefusedError }> {
  try {
    if (target.control) return { probe: await RoundTripProbe.connect(clients.next(), signal) };
    const { socket } = await connectClient(clients.next(), signal);
    await socket.disconnect();
    return { probe: substituteProbe() };
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    return { probe: substituteProbe(), refusal: error };
  }
}

/**
 * Reports which measurements are impossible because the server refuses the run's clients.
 * @returns the settings without these measurements
 */
export function settingsWithoutClients(
  settings: Settings,
  { reason, fix, failure }: RefusedError,
  run: Omit<Opening, 'closers' | 'signal'>,
): Settings {
  const { control, delivery, warmUp, broadcasts } = settings;
  const publishes = delivery?.publish !== undefined;
  const lost = [
    ...(control ? ['round trips', 'reference receiver'] : []),
    ...(warmUp > 0
      ? [
          run.measurements.memory
            ? 'warm-up connections (the memory per connection includes what only the very first ones cost)'
            : 'warm-up connections',
        ]
      : []),
    ...(publishes ? [`broadcasts of \`${delivery.event}\``] : []),
  ];
  if (lost.length === 0) run.log(`Note: the server refused a client of the run: ${reason}. The load is not affected.`);
  else
    run.measurements.observations.note('clientsRefused', {
      error: reason,
      fix,
      lost,
      cause: failure?.code,
      words: failure?.message,
    });
  const ofPublishers = publishes ? { delivery: undefined, broadcasts: { ...broadcasts, count: 0 } } : {};
  return { ...settings, warmUp: 0, singleRoundTrips: 0, ...ofPublishers };
}

/**
 * Connects the reference receiver.
 * @returns undefined if the connect failed
 */
export async function openReferenceReceiver(
  clients: RunClients,
  options: Opening,
): Promise<ReferenceReceiver | undefined> {
  const { signal, measurements } = options;
  try {
    return await ReferenceReceiver.start(clients.next(), signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof CapacityError)) throw error;
    measurements.observations.note('sentinelRefused', { error: error.message, fix: error.fix });
    return undefined;
  }
}

/**
 * Connects the publishers, if configured, and checks that the server's own event arrives.
 * @param clients undefined if the server refuses the run's clients
 * @throws CapacityError DELIVERY_UNMATCHED, or TARGET_UNREACHABLE
 */
export async function openPublishers(
  delivery: OwnEventDelivery,
  clients: RunClients | undefined,
  { measurements, closers, signal, log }: Opening,
): Promise<Publishers | undefined> {
  const { event, id, join, publish, audience } = delivery;
  const options = publish && { ...publish, hasRooms: audience !== undefined };
  const publishers = options && clients && (await Publishers.connect(clients, options, signal));
  if (publishers) closers.add(() => publishers.close());
  const givesIds = publishers?.givesIds ?? false;
  measurements.ownEvent = newOwnEvent(event, formatJsonPath(id), publish ? 'run' : 'server', givesIds);
  measurements.ownEvent.join = join;
  try {
    const otherEvents = clients && (await tryDelivery(clients.nextReceiver(), delivery, publishers, signal));
    if (otherEvents === undefined) return publishers;
    measurements.ownEvent.others = otherEvents;
    measurements.ownEvent.toPublisher = [...(publishers?.received ?? [])];
    const instead = otherEvents.length > 0 ? `; it received ${otherEvents.join(', ')}` : '';
    const [received] = publishers?.received ?? [];
    const answer = received ? ` The publisher received ${received.event} ${received.text}.` : '';
    const rooms = publishers && !audience && !received ? ' If it goes to rooms, set `delivery.audience`.' : '';
    log(`A client of the run received no \`${event}\` before the load${instead}.${answer}${rooms}`);
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    log(`No client of the run could listen for \`${event}\` before the load: ${error.reason}.`);
  }
  return publishers;
}
