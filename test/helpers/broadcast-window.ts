/** Measures the broadcasts with all connections, on a simulated run. */
import type { TestContext } from 'node:test';
import { contractBroadcasts } from '../../plugin/run/broadcasts/contract-broadcasts.ts';
import { measureBroadcasts } from '../../plugin/run/broadcasts/window.ts';
import type { RunContext } from '../../plugin/run/context.ts';
import { FakeRun } from './fake-run.ts';
import { VirtualTime } from './virtual-time.ts';

const OPTIONS = { broadcasts: { count: 4, interval: 1 }, drain: { quiet: 1, deadline: 5 } };

export class BroadcastWindow {
  readonly time: VirtualTime;
  readonly run: FakeRun;
  readonly context: RunContext;
  /** Seconds from the end of the last broadcast to the end of the window. */
  drainSeconds = 0;

  /** Creates a window of broadcasts to ten members. */
  constructor(t: TestContext, options: object = {}) {
    this.time = new VirtualTime(t);
    this.run = new FakeRun({ ...OPTIONS, ...options });
    this.context = this.run.context;
    this.run.measurements.workersAtStart = ['w0', 'w1'].map((worker, index) => ({
      worker,
      pid: index + 1,
      instance: worker,
    }));
    this.run.arrive(10);
  }

  /** @param onDrain called after the last broadcast */
  async measure(onDrain = () => {}): Promise<FakeRun['measurements']> {
    const { measurements, context } = this.run;
    let drainMs = 0;
    const { cpu } = context.sampler;
    context.sampler.cpu = () => {
      this.drainSeconds = (this.time.nowMs - drainMs) / 1000;
      return cpu();
    };
    const measured = measureBroadcasts(context, contractBroadcasts(context), () => {
      drainMs = this.time.nowMs;
      onDrain();
    });
    await this.time.until(measured);
    return measurements;
  }
}
