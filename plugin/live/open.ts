/** Opens the live view of a run. Loaded only when the view is asked for. */
import type { Conductor } from '../run/conductor.ts';
import type { RunContext } from '../run/context.ts';
import { LiveReader } from './figures.ts';
import { LiveView } from './server.ts';

/**
 * @param port 0 takes a free one
 * @throws CapacityError LIVE_PORT_TAKEN
 */
export async function openLiveView(port: number, conductor: Conductor, context: RunContext): Promise<LiveView> {
  return LiveView.open({ port, reader: new LiveReader(conductor, context) });
}
