/**
 * The stack's nginx between generators and worker, where it terminates TLS. All generators then negotiate the same
 * cipher and key exchange, and the worker is the same as without TLS.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { pingOf, proxyTimeoutSeconds, startNginx } from '../../server/stack/nginx.ts';
import { planStack, readMachine } from '../../server/stack/plan.ts';
import { freePorts } from '../../server/stack/ports.ts';
import { type ProcessRef, terminate } from '../../server/stack/state/processes.ts';
import { requireTool } from '../../server/stack/tools.ts';

const CLOSE_TIMEOUT_MS = 5000;

export class TlsProxy {
  readonly url: string;
  /** The certificate to trust, as a PEM file. */
  readonly caFile: string;
  readonly #master: ProcessRef;

  private constructor(url: string, caFile: string, master: ProcessRef) {
    this.url = url;
    this.caFile = caFile;
    this.#master = master;
  }

  /** @param folder for its files @throws CapacityError without nginx, or if it does not start */
  static async start(workerUrl: string, connections: number, folder: string): Promise<TlsProxy> {
    const nginx = requireTool('nginx');
    const { nginx: plan } = planStack({ connections, profile: 'full', workers: 1 }, await readMachine());
    const [port, statusPort] = (await freePorts(2)) as [number, number];
    const workers = [{ id: 'w0', port: Number(new URL(workerUrl).port) }];
    mkdirSync(folder, { recursive: true });
    const timeoutSeconds = proxyTimeoutSeconds(pingOf(process.env));
    const options = { nginx, port, statusPort, tls: true, timeoutSeconds, plan, workers, dir: folder, logDir: folder };
    const master = await startNginx(options);
    return new TlsProxy(`https://127.0.0.1:${port}`, join(folder, 'cert.pem'), master);
  }

  get pid(): number {
    return this.#master.pid;
  }

  /** Idempotent. */
  async close(): Promise<void> {
    await terminate([this.#master], CLOSE_TIMEOUT_MS);
  }
}
