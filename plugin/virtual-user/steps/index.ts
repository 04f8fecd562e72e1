/** All steps that a flow can use, by name. A new step needs a file and an entry here. */
import { connect, disconnect, hold } from './connect-step.ts';
import { emit } from './emit.ts';
import { every } from './every.ts';
import { fn } from './function.ts';
import { httpSteps, parallel } from './http-step.ts';
import { log } from './log.ts';
import { loop } from './loop.ts';
import { on } from './on.ts';
import type { StepKind } from './step.ts';
import { think } from './think.ts';
import { waitFor } from './wait-for.ts';

export const STEPS: Record<string, StepKind> = {
  connect,
  emit,
  every,
  waitFor,
  on,
  think,
  loop,
  hold,
  disconnect,
  function: fn,
  log,
  parallel,
  ...httpSteps,
};
