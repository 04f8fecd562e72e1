/** What can limit the capacity. */
export const LIMITS = [
  'memoryBudget',
  'machineMemory',
  'containerMemory',
  'workerFileDescriptors',
  'workerMemory',
  'workerMachinesMemory',
  'pings',
] as const;
export type LimitName = (typeof LIMITS)[number];

export interface Limit {
  name: LimitName;
  /** Connections. */
  max: number;
}
