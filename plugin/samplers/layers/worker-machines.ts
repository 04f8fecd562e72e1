/** The machines of workers that run elsewhere, with everything else that runs on them. */
import type { WorkerMachine } from '../../../protocol/events.ts';
import { workerMachines as machinesOf } from '../control/worker-machines.ts';
import type { Sources } from '../sources.ts';
import type { Figure, Layer } from './layer.ts';

export const workerMachines: Layer = {
  id: 'workerMachines',
  title: "Workers' machines",
  belongsTo: 'deployment',
  containsWorkers: true,
  figures: [
    { ...told((machine) => machine.usedBytes), id: 'workerMachinesUsed', title: "Workers' machines", main: true },
    { ...told((machine) => machine.tcpBytes), id: 'workerMachinesTcp', title: "Workers' machines, TCP buffers" },
  ],
};

function told(of: (machine: WorkerMachine) => number | undefined): Pick<Figure, 'source' | 'read'> {
  return {
    source: 'control port',
    read: async ({ resources }: Sources) => {
      const bytes = machinesOf(await resources()).map(({ machine }) => of(machine));
      if (bytes.includes(undefined)) throw new Error('available on Linux only');
      return bytes.reduce((sum: number, one) => sum + (one ?? 0), 0);
    },
  };
}
