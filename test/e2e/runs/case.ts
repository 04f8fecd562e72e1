/** A run that needs no Artillery: see `../runs.test.ts`. */
import type { TestContext } from 'node:test';
import { quickScript } from '../../helpers/run.ts';

/** By what it shows. */
export type Cases = Record<string, (t: TestContext) => Promise<void>>;

const RAMP = { duration: 1, arrivalRate: 5, rampTo: 5 };

/** As `quickScript`, with pauses that end when memory has been read. */
export function script(config: object, options: object = {}, engineOptions: object = {}, flow?: object[]) {
  const phases = [RAMP, { pause: 0.1 }, RAMP, { pause: 0.1 }];
  return quickScript({ phases, ...config }, options, engineOptions, flow);
}
