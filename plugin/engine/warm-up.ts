/**
 * Short connections before the load: they open, join and close, a few at a time. They take the same path as the measured
 * connections, so that engine and fleet have compiled their code before the first of those.
 */
import { EVENTS, type JoinRoom } from '../../protocol/events.ts';
import { mapLimit } from '../../protocol/helpers/map-limit.ts';
import type { WarmUpOrder } from '../../protocol/link/messages.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { FleetConnection } from '../fleet/remote-connection.ts';
import { toFlowError } from '../virtual-user/flow-error.ts';

const ANSWER_TIMEOUT_MS = 10_000;

/** Resolves when all have closed and the fleet's counts are reset. @returns the first failure, if any */
export async function warmUp(
  fleet: Pick<Fleet, 'connection' | 'reset'>,
  order: WarmUpOrder,
): Promise<string | undefined> {
  const { connections, together, room } = order;
  const failure = await mapLimit(connections, together, () => openAndClose(fleet, room)).then(
    () => undefined,
    (error) => toFlowError(error),
  );
  await fleet.reset();
  return failure && `${failure.code}: ${failure.message}`;
}

async function openAndClose(fleet: Pick<Fleet, 'connection'>, clientKey: string | undefined): Promise<void> {
  const connection = fleet.connection();
  const opened = connection.open('/');
  const joined = clientKey === undefined ? undefined : join(connection, { clientKey });
  joined?.catch(() => {}); // if it does not open, `opened` reports why
  try {
    await opened;
    await joined;
  } finally {
    await connection.close();
  }
}

function join(connection: FleetConnection, payload: JoinRoom): Promise<unknown> {
  return connection.emitWithAck('/', EVENTS.joinRoom, [payload], ANSWER_TIMEOUT_MS);
}
