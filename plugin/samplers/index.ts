export {
  absenceOf,
  absenceReasonOf,
  absentSinceSeconds,
  describeAbsence,
  type SourceAbsence,
  SourceAbsentError,
  SourceAvailability,
} from './absence.ts';
export { UnansweredRequestError } from './control/control-errors.ts';
export { ControlClients, type EachControl } from './control/control-workers.ts';
export { workerMachines } from './control/worker-machines.ts';
export { runtimeOfProcess } from './inspector/inspected.ts';
export { Inspectors, isInspectable } from './inspector/inspectors.ts';
export { bodyBeginning, destroyAfter } from './late-answers.ts';
export { FURTHER_LAYERS, LAYERS, layersFor } from './layers/index.ts';
export { describeLayers, type Layer } from './layers/layer.ts';
export { MachineWatch, machineSharesBetween, meanMachineShares } from './machine/cpu-shares.ts';
export { readHostTraffic } from './machine/host-traffic.ts';
export type { MachineTotals } from './machine/machine-time.ts';
export { readSharedMemory } from './machine/shared-memory.ts';
export { type ConnectionHolding, connectionHoldingsOf, connectionsTo } from './processes/connections-to.ts';
export { findPortListeners, ListeningPorts, listenersOn, type PortListeners } from './processes/listeners.ts';
export { roleOf } from './processes/membership.ts';
export { readProcesses } from './processes/proc.ts';
export type { LayerPids } from './processes/process-memory.ts';
export { printableCommandOf } from './processes/process-name.ts';
export { processTreesOf, suggestProcessQuery } from './processes/process-query.ts';
export {
  addWorkerChildren,
  cachedProcessTable,
  type ProcessTable,
  readProcessTable,
  withDescendants,
} from './processes/process-table.ts';
export { type EndedProcess, type HaltedProcess, ProcessWatch } from './processes/process-watch.ts';
export {
  type FullestProcess,
  findFullestProcess,
  ServerProcesses,
  type UnrelatedProcess,
} from './processes/server-processes.ts';
export { cpuProfileText, heapProfileText } from './profiles/profile-text.ts';
export { PageTargets, type TargetReading } from './prometheus/targets.ts';
export { absencesOfReadings, type FigureReadings, knownValues, sourcesOfReadings } from './reading.ts';
export { RedisReader } from './redis/redis-sampler.ts';
export type { LayerSample, SampleRow } from './sample-row.ts';
export { Sampler } from './sampler.ts';
