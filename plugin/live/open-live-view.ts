/** Opens the live page, if the run has one. */
import type { Conductor } from '../run/conductor.ts';
import type { RunContext } from '../run/context.ts';
import type { GeneratorHost } from '../run/measurements/generator-measured.ts';
import type { LiveView } from './live-server.ts';

/**
 * Opens the live view.
 * @param port port of the page; undefined for no page, whose modules are then not loaded
 */
export async function openLiveView(
  port: number | undefined,
  conductor: Conductor,
  context: RunContext,
  hosts: (() => GeneratorHost[]) | undefined,
): Promise<LiveView | undefined> {
  if (port === undefined) return undefined;
  const [{ LiveView }, { createLiveReader }] = await Promise.all([
    import('./live-server.ts'),
    import('./live-figures.ts'),
  ]);
  return LiveView.open({ port, reader: createLiveReader(conductor, context, hosts) });
}
