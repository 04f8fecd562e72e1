export { LAYERS } from './layers/index.ts';
export { describeLayers, type Layer } from './layers/layer.ts';
export type { LayerPids } from './process-memory.ts';
export { PrometheusTargets, type TargetReading } from './prometheus-targets.ts';
export { RedisReader } from './redis.ts';
export { type LayerSample, type SampleRow, Sampler } from './sampler.ts';
export { ServerProcesses } from './server-processes.ts';
export { type ClockOffset, ControlClients } from './workers.ts';
