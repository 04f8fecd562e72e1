/**
 * Describes the machines of a run: CPU model, cores, memory and kernel. The server's machine is described separately if
 * it differs from the generator's.
 */
import type { Result } from '../../protocol/result/result.ts';
import { sharesMachine } from '../figures/places.ts';
import { coreCountText, environmentCores, environmentMemoryBytes } from '../figures/usable-resources.ts';
import { countText, decimalsText } from '../text/format.ts';

interface Machine {
  model?: string | undefined;
  system?: string | undefined;
  cores: number;
  memoryBytes: number;
  /** Number of cores and bytes that can be used, if a container limits them. */
  usable: { cores: number; memoryBytes: number; by?: string };
}

/** Maximum number of host names in the line. The table of hosts lists all hosts. */
const MOST_NAMES = 4;

/** Returns, for example, `AMD EPYC, 2 cores, 23.5 GiB, Linux 6.18`, or `generator: …; server: …`. */
export function machineLine(result: Omit<Result, 'answer'>): string {
  const { environment, generators } = result;
  const own = describe({
    model: environment.cpu,
    system: environment.kernel,
    cores: environment.cpuCount,
    memoryBytes: environment.memoryBytes,
    usable: { cores: environmentCores(environment), memoryBytes: environmentMemoryBytes(environment) },
  });
  const servers = serverMachines(result);
  const hosts = generators.map(({ host, cores, memoryLimitBytes, machine }) => ({
    name: host,
    text: describe({
      ...machine,
      usable: { cores, memoryBytes: memoryLimitBytes ?? machine.memoryBytes },
    }),
  }));
  if (hosts.length === 0 && servers.length === 0) return own;
  const load = hosts.length === 0 ? [`generator: ${own}`] : [`generators: ${grouped(hosts)}`, `conductor: ${own}`];
  return [...load, ...(servers.length > 0 ? [`server: ${servers.join(', and ')}`] : [])].join('; ');
}

/**
 * Returns the description of the server's machine; nothing if it has the same hardware and limits as the generator's.
 */
function serverMachines(result: Omit<Result, 'answer'>): string[] {
  const { workerMachines, workers, generators } = result;
  if (workerMachines.length === 0) return sharesMachine(result) && generators.length === 0 ? [] : [machineOf(result)];
  const machines = workerMachines.map((machine, index) => {
    const own = workers.filter((worker) => worker.machine === index);
    const memory = own.flatMap(({ memoryLimitBytes }) => memoryLimitBytes ?? []);
    const cores = Math.min(machine.cores, ...own.map((worker) => worker.usableCores));
    return {
      ...machine,
      usable: { cores, memoryBytes: Math.min(machine.memoryBytes, ...memory), by: ' by each worker' },
    };
  });
  const { environment } = result;
  const sameLimits = machines.every(
    ({ isGenerators, usable }) =>
      isGenerators &&
      usable.cores >= environmentCores(environment) &&
      usable.memoryBytes >= environmentMemoryBytes(environment),
  );
  if (sameLimits && generators.length === 0) return [];
  return [
    grouped(
      machines.map(({ hostname, isGenerators, ...machine }) => ({
        name: isGenerators
          ? `${hostname}, the ${generators.length > 0 ? 'conductor' : 'generator'}’s machine`
          : hostname,
        text: describe(machine),
      })),
    ),
  ];
}

function machineOf(result: Omit<Result, 'answer'>): string {
  return sharesMachine(result) ? 'on the conductor’s machine' : 'unknown, because its workers do not report it';
}

/** Describes machines with equal hardware once: `a, b (AMD EPYC, …), c (…)`. */
function grouped(machines: { name: string; text: string }[]): string {
  return [...Map.groupBy(machines, ({ text }) => text)]
    .map(([text, same]) => {
      const names = same.slice(0, MOST_NAMES).map(({ name }) => name);
      const more = same.length > MOST_NAMES ? ` and ${same.length - MOST_NAMES} more` : '';
      return `${names.join(', ')}${more} (${text})`;
    })
    .join(', ');
}

function describe({ model, system, cores, memoryBytes, usable }: Machine): string {
  const { by = '' } = usable;
  const all = { cores: countText(cores, 'core'), memory: `${gib(memoryBytes)} GiB` };
  const parts = [
    model,
    usable.cores < cores ? `${coreCountText(usable.cores)} of ${all.cores} usable${by}` : all.cores,
    usable.memoryBytes < memoryBytes ? `${gib(usable.memoryBytes)} of ${all.memory} usable${by}` : all.memory,
    system,
  ];
  return parts.filter((part) => part !== undefined).join(', ');
}

function gib(bytes: number): string {
  return decimalsText(bytes / 1024 ** 3, bytes < 1024 ** 3 ? 2 : 1);
}
