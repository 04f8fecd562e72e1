export { type KernelReading, readKernel } from './kernel.ts';
export type { Layer, LayerPids } from './layers.ts';
export { type ProcessReading, readProcesses } from './proc.ts';
export { RedisReader, type RedisReading } from './redis.ts';
export { type LayerSample, type SampleRow, Sampler, type SamplerHealth, type SamplerSources } from './sampler.ts';
export { type ClockOffset, ControlClients } from './workers.ts';
