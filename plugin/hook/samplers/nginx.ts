/** nginx: its own counters (stub_status), and which processes are its workers. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

export interface NginxReading {
  active: number;
  /** Since the start of nginx. `accepts` above `handled` means connections dropped for want of worker_connections. */
  accepts: number;
  handled: number;
  requests: number;
  reading: number;
  writing: number;
  waiting: number;
}

/**
 * @param url of a location with `stub_status`
 * @throws Error when it does not answer within `timeoutMs`, or not with a status page
 */
export async function readStubStatus(url: string, timeoutMs = 1000): Promise<NginxReading> {
  const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  return parseStubStatus(text);
}

export function parseStubStatus(text: string): NginxReading {
  const numbers = [...text.matchAll(/\d+/g)].map(Number);
  if (!text.startsWith('Active connections:') || numbers.length !== 7) throw new Error('not a stub_status page');
  const [active = 0, accepts = 0, handled = 0, requests = 0, reading = 0, writing = 0, waiting = 0] = numbers;
  return { active, accepts, handled, requests, reading, writing, waiting };
}

/** @returns the processes that the master started; none when it is gone. Never throws. */
export async function nginxWorkerPids(masterPid: number): Promise<number[]> {
  const listing =
    process.platform === 'linux'
      ? readFile(`/proc/${masterPid}/task/${masterPid}/children`, 'latin1')
      : promisify(execFile)('pgrep', ['-P', String(masterPid)]).then((result) => result.stdout);
  return (await listing.catch(() => '')).split(/\s+/).filter(Boolean).map(Number);
}
