/** The steps that are HTTP requests. */
import type { Scenario } from '../script.ts';

export const HTTP_METHODS = ['get', 'post', 'put', 'patch', 'delete', 'head', 'options'] as const;

export function isHttpStep(step: unknown): boolean {
  return typeof step === 'object' && step !== null && HTTP_METHODS.some((method) => method in step);
}

/** @returns whether the scenario sends HTTP requests, in whichever steps */
export function hasHttpSteps({ flow = [] }: Scenario): boolean {
  return flow.some(function has(step: unknown): boolean {
    if (Array.isArray(step)) return step.some(has);
    if (typeof step !== 'object' || step === null) return false;
    const { loop, parallel } = step as { loop?: unknown; parallel?: unknown };
    return isHttpStep(step) || [loop, parallel].some((steps) => Array.isArray(steps) && steps.some(has));
  });
}
