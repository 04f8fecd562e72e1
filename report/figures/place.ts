/** The machines that the deployment runs on. */
import { isLoopback } from '../../protocol/base/machine/loopback.ts';
import type { Result } from '../../protocol/result/result.ts';

type Run = Pick<Result['run'], 'profile' | 'target'>;

/** Returns whether the deployment runs on the generator's machine. */
export function sharesMachine({ run }: { run: Run }): boolean {
  return run.profile !== 'remote' || isLoopback(new URL(run.target).hostname);
}

/** Returns the name of a deployment that the run did not start: profile `remote`, on any machine. */
export function ownServer(run: Run): string {
  return sharesMachine({ run }) ? 'your own server on this machine' : 'your own server';
}
