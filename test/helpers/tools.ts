/** Optional programs for tests, in PATH or installed by `npm run test:tools`. */
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { findTool } from '../../server/stack/tools.ts';

/**
 * Folder of the programs that `npm run test:tools` builds. It is outside the checkout, so that they are built only
 * once.
 */
export const TOOLS = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'socketio-capacity-tests');

/** Folder of Python packages in `TOOLS`. */
export const PYTHON_PACKAGES = join(TOOLS, 'python');

/** Jenkins' version of Groovy in `TOOLS`. */
export const GROOVY = join(TOOLS, 'groovy-all-2.4.21.jar');

/** Go module of the controller of JobSets. */
export const JOBSET = { module: 'sigs.k8s.io/jobset', version: 'v0.10.1' };

/** Source of the controller of JobSets in `TOOLS`, with its custom resource definition. */
export const JOBSET_MODULE = join(TOOLS, 'jobset');

/** Programs of a control plane of Kubernetes. In `TOOLS`, they are links to one program. */
export const CONTROL_PLANE = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubectl'];

process.env.PATH += `${delimiter}${TOOLS}`;
process.env.PYTHONPATH = [process.env.PYTHONPATH, PYTHON_PACKAGES].filter(Boolean).join(delimiter);

/** @returns why tests that need these programs are skipped; false if all programs are installed */
export function missingTools(...names: string[]): string | false {
  const missing = names.filter((name) => !findTool(name));
  return missing.length > 0 && `not installed: ${missing.join(', ')} (npm run test:tools)`;
}
