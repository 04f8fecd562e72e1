/** The causal graph: which finding explains which other one. An edge holds only if the cause is not later than the effect. */
import type { FindingCode } from '../../protocol/codes/finding-codes.ts';
import { CONNECTION_CAUSES } from './causes/connection-causes.ts';
import { DEPLOYMENT_CAUSES } from './causes/deployment-causes.ts';
import type { Causes } from './causes/edges.ts';
import { GENERATOR_CAUSES } from './causes/generator-causes.ts';

/** Causes that end with their window: they explain effects in the same window, and none later. */
export const MOMENTARY: FindingCode[] = [
  ...(['MACHINE_SATURATED', 'GENERATOR_LATE'] as const),
  ...(['WORKERS_SATURATED', 'WORKERS_THROTTLED', 'WORKER_STALLED'] as const),
];

/** Edges from each cause. */
export const CAUSES: Causes = { ...GENERATOR_CAUSES, ...DEPLOYMENT_CAUSES, ...CONNECTION_CAUSES };
