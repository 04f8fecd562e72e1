/** Thresholds of Artillery's plugin `ensure`. */
import type { Script } from './script.ts';

/** @returns whether the scenario has any, in either of the places where the plugin looks for them */
export function hasThresholds({ config }: Script): boolean {
  const checks = config.ensure || config.plugins?.ensure;
  const isGiven = (value: unknown) => (Array.isArray(value) ? value.length > 0 : value !== null && value !== undefined);
  return typeof checks === 'object' && checks !== null && Object.values(checks).some(isGiven);
}
