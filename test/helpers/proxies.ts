/** Real proxies in front of a server. The test sets their faults. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { isListening } from '../../server/stack/ports.ts';
import { findTool } from '../../server/stack/tools.ts';
import { eventually } from './poll.ts';
import { startProcess } from './process.ts';
import type { Cleaner } from './raw-listen.ts';
import { freePort } from './redis.ts';
import { tempFolder } from './temp-folder.ts';

const CONFIG = 'proxy.conf';

/** @returns why the program cannot run here; false if it can */
export function lacks(program: 'nginx' | 'haproxy'): string | false {
  return findTool(program) ? false : `${program} is not installed`;
}

export const UPGRADE =
  'proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade;';

/**
 * Starts nginx. It is stopped after the test.
 * @param location nginx directives beside `proxy_pass`
 * @param http nginx directives for all locations
 * @returns the port, and the process id of the master
 */
export async function startNginx(
  t: Cleaner,
  upstreamPort: number,
  location: string,
  http = '',
): Promise<{ port: number; pid: number }> {
  const port = await freePort();
  const folder = tempFolder(t);
  const config = `
    worker_processes 1; pid ${folder}/pid; error_log ${folder}/error.log;
    events { worker_connections 200; }
    http {
      access_log off; ${http}
      client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy; fastcgi_temp_path ${folder}/fastcgi;
      uwsgi_temp_path ${folder}/uwsgi; scgi_temp_path ${folder}/scgi;
      server {
        listen 127.0.0.1:${port};
        location / { proxy_pass http://127.0.0.1:${upstreamPort}; ${location} }
      }
    }`;
  writeFileSync(join(folder, CONFIG), config);
  // Starts a daemon, because a run never takes its own child processes for the proxy.
  await execa(findTool('nginx') as string, ['-p', folder, '-c', join(folder, CONFIG)]);
  const pid = Number(readFileSync(join(folder, 'pid'), 'utf8'));
  t.after(async () => {
    process.kill(pid, 'SIGTERM');
    await eventually('nginx has ended', () => !existsSync(`/proc/${pid}`));
  });
  await accepts(port);
  return { port, pid };
}

/**
 * Starts HAProxy. It is stopped after the test.
 * @param own lines of the frontend, and words of the server's line
 * @returns the port
 */
export async function startHaproxy(
  t: Cleaner,
  upstreamPort: number,
  { tunnelSeconds = 60, frontend = '', server = '' },
): Promise<number> {
  const port = await freePort();
  const folder = tempFolder(t);
  const config = `
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  timeout tunnel ${tunnelSeconds}s
frontend all
  bind 127.0.0.1:${port}
  ${frontend}
  default_backend server
backend server
  server w1 127.0.0.1:${upstreamPort} ${server}
`;
  writeFileSync(join(folder, CONFIG), config);
  startProcess(t, findTool('haproxy') as string, ['-db', '-f', join(folder, CONFIG)]);
  await accepts(port);
  return port;
}

function accepts(port: number): Promise<unknown> {
  return eventually(`port ${port} is open`, () => isListening('127.0.0.1', port));
}
