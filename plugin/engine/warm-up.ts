/**
 * Short connections before the load: they come, join and leave, a few at a time. They go the way of the measured ones, so
 * that engine and fleet, too, have compiled and set up what the first of those would otherwise pay for.
 */
import { EVENTS, type JoinRoom } from '../../protocol/events.ts';
import type { WarmUpOrder } from '../../protocol/link.ts';
import { mapLimit } from '../../protocol/map-limit.ts';
import type { FleetLike } from './engine-context.ts';
import { toFlowError } from './flow-error.ts';

const ANSWER_TIMEOUT_MS = 10_000;

/** @returns what the first that failed said, when all have left and the fleet's books are empty again */
export async function warmUp(fleet: FleetLike, order: WarmUpOrder): Promise<string | undefined> {
  const { connections, together, room } = order;
  const failure = await mapLimit(connections, together, () => comeAndGo(fleet, room)).then(
    () => undefined,
    (error) => toFlowError(error),
  );
  await fleet.reset();
  return failure && `${failure.code}: ${failure.message}`;
}

async function comeAndGo(fleet: FleetLike, clientKey: string): Promise<void> {
  const connection = fleet.connection();
  const payload: JoinRoom = { clientKey };
  const opened = connection.open('/');
  const joined = connection.emitWithAck('/', EVENTS.joinRoom, [payload], ANSWER_TIMEOUT_MS);
  joined.catch(() => {}); // where it does not open, that is what is said
  try {
    await opened;
    await joined;
  } finally {
    await connection.close();
  }
}
