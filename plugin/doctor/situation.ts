/** All that the doctor looks at: the machine, what the scenario asks for, and what is to answer it. */

import type { Script } from '../hook/script.ts';
import type { HookConfig } from '../script/plugin-options.ts';
import { type Deployment, readDeployment } from './deployment.ts';
import { type Load, readLoad } from './load.ts';
import { type Machine, readMachine } from './machine.ts';

export interface Situation {
  machine: Machine;
  load: Load;
  deployment: Deployment;
}

export async function readSituation(script: Script, config: HookConfig): Promise<Situation> {
  const [machine, deployment] = await Promise.all([readMachine(), readDeployment(config)]);
  return { machine, load: readLoad(script, config), deployment };
}
