export {
  type Absence,
  Absent,
  Availability,
  absenceOf,
  absentSinceSeconds,
  describeAbsence,
  reasonOf,
} from './absence.ts';
export { UnansweredRequest } from './control/control-errors.ts';
export { ControlClients, type EachControl } from './control/control-workers.ts';
export { workerMachines } from './control/worker-machines.ts';
export { runtimeOf } from './inspector/inspected.ts';
export { Inspectors, isInspectable } from './inspector/inspectors.ts';
export { beginningOf, limitTime } from './late-answers.ts';
export { FURTHER_LAYERS, LAYERS, layersFor } from './layers/index.ts';
export { describeLayers, type Layer } from './layers/layer.ts';
export { MachineWatch, meanShares, sharesBetween } from './machine/cpu-shares.ts';
export type { MachineTotals } from './machine/machine-time.ts';
export { readSharedMemory } from './machine/shared-memory.ts';
export { connectionsTo, type Holding, holdingsOf } from './processes/connections-to.ts';
export { type Listening, ListeningPorts, listenersOn, whoListens } from './processes/listeners.ts';
export { roleOf } from './processes/membership.ts';
export { readProcesses } from './processes/proc.ts';
export type { LayerPids } from './processes/process-memory.ts';
export { shownCommand } from './processes/process-name.ts';
export { queryFor, treesOf } from './processes/process-query.ts';
export {
  type ProcessTable,
  processTable,
  readProcessTable,
  withChildren,
  withDescendants,
} from './processes/process-table.ts';
export { type EndedProcess, type HaltedProcess, ProcessWatch } from './processes/process-watch.ts';
export { type FullestProcess, fullestOf, type Outsider, ServerProcesses } from './processes/server-processes.ts';
export { cpuProfileText, heapProfileText } from './profiles/profile-text.ts';
export { PageTargets, type TargetReading } from './prometheus/targets.ts';
export { absencesOf, type Readings, sourcesOf, valuesOf } from './reading.ts';
export { RedisReader } from './redis/redis-sampler.ts';
export type { LayerSample, SampleRow } from './sample-row.ts';
export { Sampler } from './sampler.ts';
