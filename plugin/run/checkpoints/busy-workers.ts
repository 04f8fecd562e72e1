/** Connections cost the workers CPU time: processes that use none while some come are not those of the server. */
import { Check } from './warnings.ts';

/** Together they take more than the 10 ms in which the kernel counts, of the fastest server, too. */
const MIN_CONNECTIONS = 400;

export class BusyWorkers extends Check {
  /** When their CPU time last moved. */
  #moved: { cpuUs: number; connections: number } | undefined;

  async check(when: string): Promise<void> {
    const { sampler, population } = this.context;
    const { worker: cpuUs } = await sampler.cpu();
    if (cpuUs === undefined) return;
    const connections = population.connections();
    const moved = this.#moved;
    if (moved?.cpuUs !== cpuUs) this.#moved = { cpuUs, connections };
    else if (Math.abs(connections - moved.connections) >= MIN_CONNECTIONS) {
      const message = `${when}, the workers had used no CPU time since ${moved.connections} connections: other processes hold the connections`;
      this.warnings.warn(
        'WORKERS_DISAGREE',
        message,
        'name the processes of the server: ss -tlnp names those of its port',
      );
    }
  }
}
