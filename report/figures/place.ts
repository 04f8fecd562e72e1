/** The machines that the deployment runs on. */
import { isLoopback } from '../../protocol/base/machine/loopback.ts';
import type { Result } from '../../protocol/result/result.ts';

type Run = Pick<Result['run'], 'profile' | 'target'>;

/** @returns whether the deployment runs on the generator's machine */
export function sharesMachine({ run }: { run: Run }): boolean {
  return run.profile !== 'remote' || isLoopback(new URL(run.target).hostname);
}

/** @returns what a deployment is called that the run has not started: profile `remote`, on whatever machine it is */
export function ownServer(run: Run): string {
  return sharesMachine({ run }) ? 'your own server on this machine' : 'your own server';
}
