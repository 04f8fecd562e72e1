/**
 * The stack's nginx between generators and worker, where it terminates TLS. All generators then negotiate the same
 * cipher and key exchange, and the worker is the same as without TLS.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { pingOf, proxyTimeoutSeconds, startNginx } from '../../server/stack/nginx.ts';
import { planStack, readMachine } from '../../server/stack/plan.ts';
import { freePorts } from '../../server/stack/ports.ts';
import { terminate } from '../../server/stack/state/processes.ts';
import { requireTool } from '../../server/stack/tools.ts';

const CLOSE_TIMEOUT_MS = 5000;

/** @param folder for its files @throws CapacityError without nginx, or if it does not start */
export async function startTlsProxy(workerUrl: string, connections: number, folder: string) {
  const nginx = requireTool('nginx');
  const { nginx: plan } = planStack({ connections, profile: 'full', workers: 1 }, await readMachine());
  const [port, statusPort] = (await freePorts(2)) as [number, number];
  const workers = [{ id: 'w0', port: Number(new URL(workerUrl).port) }];
  mkdirSync(folder, { recursive: true });
  const timeoutSeconds = proxyTimeoutSeconds(pingOf(process.env));
  const options = { nginx, port, statusPort, tls: true, timeoutSeconds, plan, workers, dir: folder, logDir: folder };
  const master = await startNginx(options);
  return {
    url: `https://127.0.0.1:${port}`,
    /** The certificate to trust, as a PEM file. */
    caFile: join(folder, 'cert.pem'),
    pid: master.pid,
    close: () => terminate([master], CLOSE_TIMEOUT_MS),
  };
}
