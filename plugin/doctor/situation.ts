/** Everything that the doctor examines: the machine, the load of the scenario, and the deployment. */
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
