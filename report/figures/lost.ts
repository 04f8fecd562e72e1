/** Connections that were lost, apart from those that never opened. */
import { total } from '../text/format.ts';

const isLoss = (cause: string) => cause.startsWith('disconnected_');

/**
 * A virtual user whose connection was lost has failed, too. Losing a namespace of a connection that stays open loses no connection.
 * @returns the failures without losses that `lost` has as well
 */
export function apartFromLost(failures: Record<string, number>, lost: Record<string, number>): Record<string, number> {
  const others = Object.fromEntries(Object.entries(failures).filter(([cause]) => !isLoss(cause)));
  return total(failures) - total(others) > total(lost) ? failures : others;
}
