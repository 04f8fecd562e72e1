/** Opens the live view (a web page that shows the run in progress), if the run has one. */
import type { Conductor } from '../run/conductor.ts';
import type { RunContext } from '../run/context.ts';
import type { GeneratorHost } from '../run/measurements/generator-measured.ts';
import type { LiveView } from './live-server.ts';

/**
 * Opens the live view.
 * @param port port of the web page; undefined for a run without a live view, which then does not load the modules for
 * it
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
