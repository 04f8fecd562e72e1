/** Web address of the repository. Plain JavaScript, since npm packs with any Node. */
import { execFileSync } from 'node:child_process';

/** @returns the address of the remote `origin`; undefined without one, or if it is no host's */
export function repositoryUrl() {
  let remote;
  try {
    const options = { encoding: 'utf8', cwd: import.meta.dirname, stdio: ['ignore', 'pipe', 'ignore'] };
    remote = execFileSync('git', ['config', 'remote.origin.url'], options);
  } catch {
    return undefined;
  }
  const [, host, path] = /^(?:\w+:\/\/)?(?:[^@/]+@)?([^/:]+)[/:](.+?)(?:\.git)?\s*$/.exec(remote) ?? [];
  return host?.includes('.') ? `https://${host}/${path}` : undefined;
}
