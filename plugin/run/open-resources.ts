/**
 * Opens all resources of a run. Opens the target first, because the target's error message is the clearest if the URL
 * is wrong.
 */
import { totalmem } from 'node:os';
import { readCgroup } from '../../protocol/base/machine/cgroup.ts';
import { thisHost } from '../../protocol/base/machine/this-host.ts';
import { lowestLimit } from '../../protocol/base/machine/usable.ts';
import { NAMED_LAYERS, titleOfLayer } from '../../protocol/documents/named-layers.ts';
import { INSPECTION_METHODS } from '../../protocol/documents/server-runtimes.ts';
import { processesLine } from '../../protocol/result/server-schema.ts';
import { SOCKETS_PER_CONNECTION } from '../../protocol/wire/connection.ts';
import {
  addWorkerChildren,
  ControlClients,
  describeAbsence,
  FURTHER_LAYERS,
  type Inspectors,
  type Layer,
  type LayerPids,
  layersFor,
  MachineWatch,
  PageTargets,
  ProcessWatch,
  RedisReader,
  Sampler,
} from '../samplers/index.ts';
import {
  metricsPagesOf,
  type ProcessSources,
  readsMemory,
  sourcesByLayer,
  type WorkerSources,
} from '../script/options/worker-sources.ts';
import { ENGINE_NAME, type Script } from '../script/script.ts';
import type { Settings } from '../script/settings.ts';
import { singleRoom } from './broadcasts/round-trips.ts';
import type { ResourceClosers } from './closers.ts';
import type { RunContext } from './context.ts';
import { requireFaultPossible } from './fault/cause.ts';
import type { EngineLink } from './link.ts';
import type { Measurements } from './measurements/measurements.ts';
import { METRICS_PAGE } from './measurements/observations.ts';
import { type DeploymentPart, deploymentPartsOf } from './measurements/worker-identity.ts';
import { MemoryHolders } from './memory/plateau.ts';
import { openProbe, openPublishers, openReferenceReceiver, settingsWithoutClients } from './open-clients.ts';
import { FleetPopulation, ServerPopulation } from './population.ts';
import { grantsCompression } from './receivers/compression-offer.ts';
import { RoundTripProbe } from './receivers/round-trip-probe.ts';
import { type RunClient, RunClients } from './receivers/run-clients.ts';
import {
  NO_CONTROL,
  settingsWithoutControl,
  tolerateRefusedControl,
  type WorkerControl,
} from './target/control-client.ts';
import { requireWorkers } from './target/require-workers.ts';
import { connectInspectors, openRunTarget, type RunTarget } from './target/target.ts';
import { WorkerClocks } from './target/worker-clocks.ts';
import { ResourceWindows } from './windows/resource-windows.ts';

interface ResourceOptions {
  script: Script;
  config: Settings;
  measurements: Measurements;
  link: EngineLink;
  closers: ResourceClosers;
  signal: AbortSignal;
  log: (text: string) => void;
}

/**
 * Opens the resources of a run.
 * @returns the run's context, its target and workers; `closers` closes all resources
 * @throws CapacityError of the resource that cannot be opened, or the signal's reason
 */
export async function openResources(options: ResourceOptions) {
  const { measurements, link, closers, signal, log } = options;
  const tcpConnections = options.config.load.connectionsAtOnce * SOCKETS_PER_CONNECTION[measurements.transports];
  const opening = openRunTarget(options.config, tcpConnections, log, signal);
  closers.add(() => opening.then((target) => target.close()).catch(() => {}));
  const target = await opening;
  const settings = target.control ? options.config : settingsWithoutControl(options.config);
  requireFaultPossible(settings.fault, target);
  const { url, profile, missing } = target;
  Object.assign(measurements, { target: url, profile, missing, control: target.control !== undefined });
  measurements.memory = measurements.control || readsMemory(settings.workerSources);
  // Artillery runs the `before` section of the script first. Only then does it start the engines.
  if (options.script.before) await link.ready(signal);
  const clients = await RunClients.open(settings, options.script, target.url);
  const { probe, refusal } = await openProbe(clients, target, signal);
  if (probe instanceof RoundTripProbe) closers.add(() => probe.close());
  const config = refusal ? settingsWithoutClients(settings, refusal, options) : settings;
  if (!refusal) await offerCompression(clients.next(), options);
  const { urls = [], token = '' } = target.control ?? {};
  const controls = target.control && (await ControlClients.connect(urls, token, target.control));
  closers.add(() => controls?.close());
  const control = controls ? tolerateRefusedControl(controls, measurements, { config, signal }) : NO_CONTROL;
  const inspectors = await openInspectors(config.workerSources, target, options);
  if (target.control) await requireWorkers(control, config.broadcasts, log, signal);
  // Joins a room to end the run early if the server refuses joins.
  await probe.join(singleRoom(config.room));
  const redis = target.redisUrl ? new RedisReader(target.redisUrl) : undefined;
  if (redis) closers.add(() => redis.close());
  await redis?.ready();
  if (redis?.absence) log(`Warning: ${describeAbsence(redis.name, redis.absence)}. Fix: ${redis.absence.fix}.`);

  const named = sourcesByLayer(config);
  const metrics = await openMetrics(named);

  // The processes of the engines must be running when the baseline is read.
  await link.ready(signal);
  const ledger = measurements.engine === ENGINE_NAME;
  const publishers = config.delivery && (await openPublishers(config.delivery, refusal ? undefined : clients, options));
  const isCompared = ledger && probe instanceof RoundTripProbe && !config.delivery;
  const sentinel = isCompared ? await openReferenceReceiver(clients, options) : undefined;
  if (sentinel) closers.add(() => sentinel.close());
  const fleetPids = (await link.snapshots()).flatMap(({ processes }) => processes.map(({ pid }) => pid));
  const generator: LayerPids = measurements.hosts ? {} : { fleet: fleetPids, artillery: [process.pid] };
  const population = ledger
    ? new FleetPopulation(link, measurements.control || config.delivery !== undefined)
    : new ServerPopulation(controls ?? NO_CONTROL);
  closers.add(() => population.close());
  const workers = await control.stats();
  const areHere = workers.map(({ host }) => host.kernel === thisHost().kernel);
  const clocks = new WorkerClocks(control, areHere);
  closers.add(() => clocks.close());
  measurements.clocks = clocks.lines;
  measurements.sharedHost = target.isHere || (areHere.length > 0 && areHere.every(Boolean));
  const watch = new ProcessWatch();
  closers.add(() => watch.close());
  measurements.endedProcesses = () => watch.ended();
  measurements.haltedProcesses = () => watch.halted();
  const pids = async () => {
    const deployed = await target.pids(workers);
    // Excludes processes that a planned fault ends, because the measurement of the fault reports them.
    if (!config.fault) {
      const named = Object.entries(deployed).filter(([layer]) => layer in NAMED_LAYERS);
      watch.add({ ...Object.fromEntries(named), worker: await target.holders(workers, deployed) });
    }
    return { ...(await addWorkerChildren(deployed)), ...generator };
  };
  const noteProcesses = async () => {
    const known = measurements.processes;
    measurements.processes = (await target.processes?.(await target.pids(workers), known)) ?? null;
  };
  await noteProcesses();
  const line = target.profile === 'remote' && measurements.processes && processesLine(measurements.processes);
  if (line) log(`${line[0]?.toUpperCase()}${line.slice(1)}.`);
  const isBalanced = measurements.sharedHost && !measurements.hosts && measurements.engine === ENGINE_NAME;
  const otherHolders = new MemoryHolders();
  const holders = isBalanced ? async () => otherHolders.read(Object.values(await pids()).flat()) : undefined;
  const machine = new MachineWatch(async () => {
    const [ofLayers, unlayered] = await Promise.all([pids(), target.unlayered(workers)]);
    return unlayered && [process.pid, ...unlayered, ...Object.values(ofLayers).flat()];
  });
  const sampler = new Sampler({
    redis,
    prometheus: metrics,
    workers: controls,
    inspectors,
    notShared: whyNotShared(measurements),
    layers: layersOf(measurements, named),
    pids,
    machine,
    connections: () => population.connections(),
  });
  closers.add(() => sampler.close());
  const deployment = () => identify(target, control, redis, metrics);
  signal.throwIfAborted();
  const holds = ledger || (config.external && config.load.stays);
  const receivers = { probe, sentinel, publishers };
  const parts = { clients, population, redis, metrics, deployment, target };
  const resources = new ResourceWindows(() => control.resources(), {
    machine: () => machine.totals(),
    exported: async () => (await metrics.worker?.machines()) ?? [],
  });
  const measuring = {
    link,
    control,
    collector: inspectors ?? control,
    profiler: config.places ? (inspectors ?? controls) : undefined,
    sampler,
    resources,
    ...receivers,
    ...parts,
    noteProcesses,
    holders,
  };
  const context: RunContext = { config, measurements, ...measuring, ledger, clocks, holds, signal };
  return { context, target, workers };
}

/**
 * Checks whether the server would compress messages for browsers. Does nothing for polling clients and external
 * engines.
 */
async function offerCompression(client: RunClient, { measurements, log, signal }: ResourceOptions): Promise<void> {
  if (measurements.engine !== ENGINE_NAME || measurements.transports === 'polling') return;
  measurements.serverCompresses = await grantsCompression(client, signal);
  if (!measurements.serverCompresses || measurements.compression) return;
  log(
    'The server compresses for clients that offer it, as browsers do. The connections of this run do not, so its figures are ' +
      'without compression; COMPRESSION=on measures with it.',
  );
}

/**
 * Opens the inspectors of the workers, for a server without control ports.
 * @throws CapacityError if a process cannot be inspected
 */
async function openInspectors(
  { inspect }: Partial<WorkerSources> = {},
  target: RunTarget,
  { measurements, closers, log }: ResourceOptions,
): Promise<Inspectors | undefined> {
  if (!inspect) return undefined;
  const inspectors = await connectInspectors(inspect, target);
  closers.add(() => inspectors.close());
  measurements.inspectors = inspectors;
  const { size, runtime } = inspectors;
  const processes = `${size} process${size > 1 ? 'es' : ''}`;
  const isOpened = runtime === 'v8' && !Array.isArray(inspect);
  const how = isOpened ? ' It is open on 127.0.0.1 during each reading, for any user of this machine.' : '';
  log(
    `At rest, memory is read by ${INSPECTION_METHODS[runtime].by}, which collects the garbage of ${processes}.${how}`,
  );
  return inspectors;
}

function layersOf({ sharedHost, control }: Measurements, named: Record<string, ProcessSources>): readonly Layer[] {
  const inContainer = lowestLimit(readCgroup().memory, totalmem()) !== undefined;
  return [
    ...layersFor(named),
    ...(inContainer ? [FURTHER_LAYERS.container] : []),
    ...(control && !sharedHost ? [FURTHER_LAYERS.workerMachines] : []),
  ];
}

function whyNotShared({ sharedHost, control }: Measurements): string | undefined {
  if (sharedHost) return undefined;
  if (!control) return 'it is unknown whether the server runs on this machine';
  return "the workers run on another machine, and the kernel of this one knows only the generator's end";
}

/**
 * Identifies the processes of the deployment. Two results show which processes were replaced between the calls. Workers
 * are also identified by their statistics.
 */
async function identify(
  target: RunTarget,
  control: WorkerControl,
  redis: RedisReader | undefined,
  metrics: Record<string, PageTargets>,
): Promise<Record<string, DeploymentPart>> {
  const [reading, reported, addresses] = await Promise.all([
    redis?.read(),
    Promise.all(Object.entries(metrics).map(([layer, pages]) => identityOf(layer, pages))),
    control.addresses(),
  ]);
  return {
    ...target.parts(),
    ...deploymentPartsOf('worker', addresses),
    ...deploymentPartsOf('redis', reading?.runIds),
    ...Object.assign({}, ...reported),
  };
}

/**
 * Identifies the processes of a layer by its metrics pages. Empty if the pages do not answer, or if several processes
 * answer at one URL.
 */
async function identityOf(layer: string, pages: PageTargets): Promise<Record<string, DeploymentPart>> {
  const reading = await pages.read().catch(() => undefined);
  if (!reading || pages.alternates) return {};
  const name = layer === 'worker' ? METRICS_PAGE : `${titleOfLayer(layer)}, by its metrics,`;
  return deploymentPartsOf(layer, { [name]: reading.identity });
}

async function openMetrics(named: Record<string, ProcessSources>): Promise<Record<string, PageTargets>> {
  const opening = Object.entries(named).map(async ([layer, sources]) => {
    const pages = metricsPagesOf(sources);
    return pages.length > 0 ? [[layer, await PageTargets.open(pages)] as const] : [];
  });
  return Object.fromEntries((await Promise.all(opening)).flat());
}
