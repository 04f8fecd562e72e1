/** Finds conditions that differ between compared results and may explain their differences. */
import type { Result } from '../../protocol/result/result.ts';
import { serverName, serverProperties, settingLines, settingText } from '../figures/setting-lines.ts';
import { compressionOf, transportsOf } from '../figures/transports.ts';
import { decimalsText } from '../text/format.ts';

/**
 * Kind of a condition. `load`: applied load. `machine`: hardware. `system`: kernel and its limits. `deployment`:
 * versions and settings of the deployment, which may be the change that is tested.
 */
type Aspect = 'load' | 'machine' | 'system' | 'deployment';

export interface ConditionMismatch {
  aspect: Aspect;
  /** Name of the differing setting or property. */
  name: string;
  /**
   * Value of the condition in each set of results. If the value differs within a set, the different values are joined
   * with "or".
   */
  values: string[];
}

/** Names of settings that do not affect any figure. */
const WITHOUT_EFFECT = new Set(['results', 'live', 'thresholds', 'memoryBudgetBytes']);
const OF_DEPLOYMENT = new Set([
  'target',
  'profile',
  'control',
  'redis',
  'redisNodes',
  'workers',
  'workerSources',
  'layers',
]);
/** Name of the number of open files, which is counted during the run. It is a result and not a condition. */
const COUNTED = 'serverOpenFiles';
/** Pattern of keys for process ids, which differ in every run. */
const PID = /\.pids\.\d+$/;
const GIB = 1024 ** 3;

/**
 * Returns the conditions that differ.
 * @param sets results of each set; empty sets are ignored
 */
export function findMismatches(sets: Result[][]): ConditionMismatch[] {
  // The server's properties are compared only if all results have them. Otherwise, every property would differ.
  const known = sets.flat().every(({ environment }) => environment.server !== null);
  const properties = sets.map((results) => results.map((result) => propertiesOf(result, known)));
  const names = new Set(properties.flat().flatMap((found) => [...found.keys()]));
  return [...names]
    .map((key) => {
      const [aspect, name] = key.split(':') as [Aspect, string];
      const values = properties.map((runs) => [...new Set(runs.map((run) => run.get(key) ?? 'not set'))].join(' or '));
      return { aspect, name, values };
    })
    .filter(({ values }) => new Set(values.filter((_, index) => sets[index]?.length !== 0)).size > 1);
}

type Property = [aspect: Aspect, name: string, value: unknown];

function propertiesOf(result: Result, withServer: boolean): Map<string, string> {
  const { run, connections, latency, memory, environment } = result;
  const { cpu, cpuCount, memoryBytes, kernel, versions, sysctls, settings } = environment;
  const { [COUNTED]: _, ...limits } = environment.limits;
  const found: Property[] = [
    ['load', 'connections', connections.target],
    ['load', 'engine', run.engine],
    ['load', 'shares of the generator hosts', sharesOf(result)],
    ['load', 'latency counts from', latency.from],
    ['load', 'transports', transportsOf(result) ?? 'unknown'],
    ['load', 'compression', compressionOf(result) === null ? 'unknown' : compressionOf(result) === 'on' ? 'on' : 'off'],
    ['system', 'memory per connection without', unreadPartsText(result)],
    ['load', 'garbage collected before memory is read', memory.collected],
    // The name of the scenario file does not affect the load, so it is a property of the deployment.
    ['deployment', 'scenario', run.scenario],
    ['deployment', 'target', run.target],
    ['deployment', 'profile', run.profile],
    ['deployment', 'server', serverName(result) ?? 'unknown'],
    ...entriesOf('deployment', withServer ? Object.fromEntries(serverProperties(result)) : {}, "server's "),
    ['machine', 'cpu', cpu],
    ['machine', 'cores', cpuCount],
    // Memory is rounded to whole GiB, because the kernel reserves a slightly different amount at each boot.
    ['machine', 'memory', `${decimalsText(memoryBytes / GIB, 0)} GiB`],
    ['system', 'kernel', kernel],
    ...entriesOf('system', { ...limits, ...sysctls }),
    ...entriesOf('deployment', versions, 'version of '),
    ...settingsOf(settings),
  ];
  return new Map(found.map(([aspect, name, value]) => [`${aspect}:${name}`, settingText(value)]));
}

/**
 * Lists parts of the deployment that the run could not read, and that are therefore missing from the cost of a
 * connection.
 */
export function unreadPartsText({ memory: { perConnection } }: Result): string {
  return perConnection?.unread.join(', ') || 'nothing';
}

/**
 * Describes how the load was divided between hosts, without the names of the hosts. Host names do not affect the load.
 */
function sharesOf({ generators }: Result): string {
  if (generators.length < 2) return 'all from one host';
  const shares = generators.map(({ share }) => decimalsText(100 * share, 1)).sort((a, b) => Number(b) - Number(a));
  return `${generators.length} hosts: ${shares.join(', ')} %`;
}

function settingsOf(settings: Record<string, unknown>): Property[] {
  return settingLines(settings)
    .filter(([path]) => !WITHOUT_EFFECT.has(path.split('.')[0] as string) && !PID.test(path))
    .map(([path, value]) => [OF_DEPLOYMENT.has(path.split('.')[0] as string) ? 'deployment' : 'load', path, value]);
}

function entriesOf(aspect: Aspect, values: Record<string, unknown>, prefix = ''): Property[] {
  return Object.entries(values).map(([name, value]) => [aspect, prefix + name, value]);
}
