/** Into which rooms the broadcasts went, where there is more than one. */
import type { Result } from '../../protocol/result/result.ts';

/** @returns to follow the size of a broadcast: empty with one room */
export function toRooms({ rooms }: Pick<NonNullable<Result['delivery']>, 'rooms'>): string {
  if (!rooms) return '';
  return `, to ${rooms.reached} of ${rooms.count} rooms ${rooms.order === 'turn' ? 'in turn' : 'at random'}`;
}
