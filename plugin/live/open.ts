/** Opens the live view of a run. Loaded only if it is enabled. */
import type { Conductor } from '../run/conductor.ts';
import type { RunContext } from '../run/context.ts';
import type { GeneratorHost } from '../run/measurements/generator.ts';
import { LiveReader } from './figures.ts';
import { LiveView } from './server.ts';

/**
 * @param port 0 for a free one
 * @param hosts those that bring the load, if there are several
 * @throws CapacityError PORT_UNAVAILABLE
 */
export async function openLiveView(
  port: number,
  conductor: Conductor,
  context: RunContext,
  hosts?: () => GeneratorHost[],
): Promise<LiveView> {
  return LiveView.open({ port, reader: new LiveReader(conductor, context, hosts) });
}
