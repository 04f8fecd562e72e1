/**
 * Starts the stack's nginx between generators and worker, to terminate TLS. All generators then negotiate the same
 * cipher and key exchange, and the worker is the same as without TLS.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { configureNginx, proxyTimeoutSeconds, readPingSettings } from '../../server/stack/nginx.ts';
import { planStack, readStackMachine } from '../../server/stack/plan.ts';
import { findFreePorts } from '../../server/stack/ports.ts';
import { requireTool } from '../../server/stack/tools.ts';
import { respondsOk, waitUntilTrue } from '../../server/stack/wait-for.ts';

const START_TIMEOUT_MS = 10_000;

/**
 * @param folder folder for the proxy's files
 * @throws CapacityError if nginx is missing or rejects its configuration
 * @throws Error if nginx does not start
 */
export async function startTlsProxy(workerUrl: string, connections: number, folder: string) {
  const nginx = requireTool('nginx');
  const { nginx: plan } = planStack({ connections, profile: 'full', workers: 1 }, readStackMachine());
  const [port, statusPort] = (await findFreePorts(2)) as [number, number];
  const workers = [{ id: 'w0', port: Number(new URL(workerUrl).port) }];
  mkdirSync(folder, { recursive: true });
  const timeoutSeconds = proxyTimeoutSeconds(readPingSettings(process.env));
  const options = { port, statusPort, tls: true, timeoutSeconds, plan, workers, dir: folder, logDir: folder };
  await configureNginx(nginx, options);
  const master = spawn(nginx, ['-p', folder, '-c', join(folder, 'nginx.conf')], { stdio: 'ignore' });
  await once(master, 'spawn');
  const close = async () => {
    const ended = once(master, 'exit');
    if (master.kill()) await ended;
  };
  if (!(await waitUntilTrue(() => respondsOk(`http://127.0.0.1:${statusPort}/status`), START_TIMEOUT_MS))) {
    await close();
    throw new Error(`nginx does not answer; see ${join(folder, 'nginx.log')}`);
  }
  return {
    url: `https://127.0.0.1:${port}`,
    /** PEM file with the certificate of the proxy. */
    caFile: join(folder, 'cert.pem'),
    pid: master.pid as number,
    close,
  };
}
