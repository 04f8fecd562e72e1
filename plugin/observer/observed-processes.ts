/** The processes of a layer on this host: their memory and CPU, read as those of a run's own machine are. */
import { CapacityError } from '../../protocol/errors.ts';
import { thisHost } from '../../protocol/machine/host.ts';
import { readMemory, readTcp } from '../../protocol/machine/kernel.ts';
import type { Observation, ObservedLayer } from '../../protocol/observation.ts';
import { CpuTime, processMemory, readProcesses, ServerProcesses } from '../samplers/index.ts';

/** Command lines of the first process of each; what that has started belongs to it. */
const MATCH: Record<ObservedLayer, string> = {
  nginx: '^nginx: master process',
  haproxy: '(^|/)haproxy( |$)',
  redis: '(^|/)(redis|valkey|keydb)-server( |$)',
};

export class ObservedProcesses {
  readonly layer: ObservedLayer;
  readonly #processes: ServerProcesses;
  readonly #cpu = new CpuTime();

  /**
   * @param pid of one process of the layer, and all that it has started; undefined for all that have the layer's name
   * @throws CapacityError LAYER_NOT_FOUND
   */
  constructor(layer: ObservedLayer, pid: number | undefined) {
    this.layer = layer;
    try {
      this.#processes = new ServerProcesses(pid === undefined ? { match: MATCH[layer] } : { pids: [pid] });
    } catch (cause) {
      const what =
        pid === undefined ? `no process of ${layer} runs on this host` : `there is no process ${pid} on this host`;
      const fix = 'start it, run this on its host (and in its process namespace), or name its process: --pid';
      throw new CapacityError('LAYER_NOT_FOUND', what, fix, { cause });
    }
  }

  /** @returns ids of its processes now */
  get pids(): number[] {
    return this.#processes.pids();
  }

  /** @throws Error with the reason if one of the processes has just ended */
  async read(pss: boolean): Promise<Observation> {
    const { pids } = this;
    const readings = await readProcesses(pids, { pss });
    this.#cpu.add(pids, readings);
    return {
      layer: this.layer,
      host: thisHost(),
      processes: pids.length,
      ...processMemory(pids, readings),
      cpuUs: this.#cpu.totalUs,
      identity: this.#processes.identity(),
      machine: { usedBytes: readMemory().usedBytes, ...tcp() },
    };
  }
}

function tcp(): Pick<Observation['machine'], 'tcpBytes' | 'tcpSockets'> {
  try {
    const { bytes, sockets } = readTcp();
    return { tcpBytes: bytes, tcpSockets: sockets };
  } catch {
    return {};
  }
}
