/** Before any load: the server takes messages as large as the broadcasts, since the probe sends each of them back. */
import { CapacityError } from '../../../protocol/errors.ts';
import type { WorkerStats } from '../../../protocol/events.ts';

/** What an echo has besides the payload: names, number, time, namespace. */
const ENVELOPE_BYTES = 500;

/** @throws CapacityError CONFIG_INVALID; the server would end the connections of the probe and the run then fail at a join */
export function requireFittingPayload(
  { bytes, binary }: { bytes: number; binary: boolean },
  workers: Pick<WorkerStats, 'worker' | 'server'>[],
): void {
  const needed = bytes + (binary ? 0 : ENVELOPE_BYTES);
  for (const { worker, server } of workers) {
    // Other servers may not tell, or not as a number; 0 is no limit.
    const limit = Number(server.options.maxHttpBufferSize);
    if (!(limit > 0 && limit < needed)) continue;
    throw new CapacityError(
      'CONFIG_INVALID',
      `config.plugins.socketio-capacity.broadcasts.bytes: the probe sends each broadcast of ${bytes} bytes back, and ${worker} takes messages of at most ${limit} (maxHttpBufferSize)`,
      'lower `broadcasts.bytes`, or raise `maxHttpBufferSize` in the options of the server',
    );
  }
}
