/** All steps that a flow can use, by name. A new step needs a file and an entry here. */
import { connectStep, disconnectStep, holdStep } from './connect-step.ts';
import { emitStep } from './emit.ts';
import { everyStep } from './every.ts';
import { functionStep } from './function.ts';
import { httpSteps, parallelStep } from './http-step.ts';
import { logStep } from './log.ts';
import { loopStep } from './loop.ts';
import { onStep } from './on.ts';
import type { StepKind } from './step.ts';
import { thinkStep } from './think.ts';
import { waitForStep } from './wait-for.ts';

export const STEP_KINDS: Record<string, StepKind> = {
  connect: connectStep,
  emit: emitStep,
  every: everyStep,
  waitFor: waitForStep,
  on: onStep,
  think: thinkStep,
  loop: loopStep,
  hold: holdStep,
  disconnect: disconnectStep,
  function: functionStep,
  log: logStep,
  parallel: parallelStep,
  ...httpSteps,
};
