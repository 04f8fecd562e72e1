/** All that the doctor looks at: the machine, what the scenario asks for, and what is to answer it. */

import type { Settings } from '../script/settings.ts';
import { type Deployment, readDeployment } from './deployment.ts';
import { type Load, readLoad } from './load.ts';
import { type Machine, readMachine } from './machine.ts';

export interface Situation {
  machine: Machine;
  load: Load;
  deployment: Deployment;
}

export async function readSituation(settings: Settings): Promise<Situation> {
  const [machine, deployment] = await Promise.all([readMachine(), readDeployment(settings)]);
  return { machine, load: readLoad(settings), deployment };
}
