export { LAYERS } from './layers/index.ts';
export { describeLayers, type Layer } from './layers/layer.ts';
export type { LayerPids } from './process-memory.ts';
export { PrometheusReader } from './prometheus.ts';
export { RedisReader } from './redis.ts';
export { type LayerSample, type SampleRow, Sampler } from './sampler.ts';
export { ServerProcesses } from './server-processes.ts';
export { Thinned } from './thinned.ts';
export { type ClockOffset, ControlClients } from './workers.ts';
