/**
 * Linux namespaces that stand for hosts. Each has its own network, process ids, host name, boot id, and a monotonic
 * clock that is days ahead. They need root. A bridge in a separate namespace connects their networks, so this machine's
 * network does not change.
 */
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TOKEN } from './app.ts';
import { type HostProcess, processes, startProcess, WORKER } from './process.ts';
import type { Cleaner } from './raw-listen.ts';
import { tempFolder } from './temp-folder.ts';

/** @returns why this machine cannot create namespaces; false if it can */
export function whyNoNamespaces(): string | false {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'namespaces as hosts need Linux and root';
  try {
    execFileSync('unshare', ['--net', '--pid', '--mount', '--uts', '--time', '--monotonic=1', '--fork', 'true']);
    execFileSync('ip', ['-V']);
    return false;
  } catch (error) {
    return `this kernel, or its tools, cannot make namespaces as hosts: ${(error as Error).message}`;
  }
}

export type NamespaceHost = ReturnType<NamespaceNetwork['host']>;

export class NamespaceNetwork {
  readonly #prefix = `cap${randomUUID().slice(0, 6)}`;
  readonly #folder: string;
  readonly #ends: (() => unknown)[] = [];
  readonly #namespaces: string[] = [];

  /** Creates the network. It is removed after the test. */
  constructor(t: Cleaner) {
    this.#folder = tempFolder(t);
    t.after(() => this.#close());
    const bridge = this.#add('switch');
    ip('-n', bridge, 'link', 'add', 'br0', 'type', 'bridge');
    ip('-n', bridge, 'link', 'set', 'br0', 'up');
  }

  /** @param aheadSeconds seconds by which the host's monotonic clock is ahead of this machine's clock */
  host(name: string, aheadSeconds: number) {
    const number = this.#namespaces.length;
    const address = `10.99.0.${number}`;
    const namespace = this.#add(name);
    const bridge = this.#namespaces[0] as string;
    ip('-n', bridge, 'link', 'add', `v${number}`, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespace);
    ip('-n', bridge, 'link', 'set', `v${number}`, 'master', 'br0', 'up');
    ip('-n', namespace, 'address', 'add', `${address}/24`, 'dev', 'eth0');
    ip('-n', namespace, 'link', 'set', 'eth0', 'up');
    ip('-n', namespace, 'link', 'set', 'lo', 'up');
    const bootId = join(this.#folder, name);
    writeFileSync(bootId, `${randomUUID()}\n`);
    const enter = [
      ...['netns', 'exec', namespace, 'unshare', '--pid', '--fork', '--kill-child', '--mount', '--mount-proc', '--uts'],
      ...['--time', `--monotonic=${aheadSeconds}`, `--boottime=${aheadSeconds}`],
      ...['sh', '-c', `mount --bind ${bootId} /proc/sys/kernel/random/boot_id && hostname ${name} && exec "$@"`, 'sh'],
    ];
    return {
      address,
      /** Prefix of a command that must run in the host's network. */
      within: ['ip', 'netns', 'exec', namespace],
      /** Changes the network of the host. */
      ip: (...args: string[]) => ip('-n', namespace, ...args),
      start: (command: string[], env: Record<string, string> = {}) => this.#start([...enter, ...command], env),
    };
  }

  #add(name: string): string {
    const namespace = `${this.#prefix}-${name}`;
    ip('netns', 'add', namespace);
    this.#namespaces.push(namespace);
    return namespace;
  }

  #start(args: string[], env: Record<string, string>): HostProcess {
    const options = { cwd: this.#folder, env: { ...process.env, NODE_OPTIONS: '', ...env } };
    const started = startProcess({ after: (end) => this.#ends.push(end) }, 'ip', args, options);
    const running = () => {
      const inside = readlinkSync(`/proc/${started.pid}/ns/pid_for_children`);
      return processes().flatMap(({ pid, command }) => (namespaceOf(pid) === inside ? command : []));
    };
    return { ...started, running };
  }

  async #close(): Promise<void> {
    await Promise.all(this.#ends.map((end) => end()));
    for (const namespace of this.#namespaces) ip('netns', 'delete', namespace);
  }
}

/** Starts a worker on port 8080, with control port 9090. */
export async function startWorker({ start }: NamespaceHost, worker: string, env: Record<string, string> = {}) {
  const main = [process.execPath, '--disable-warning=ExperimentalWarning', '--expose-gc', WORKER];
  const started = start(main, {
    ...{ CAPACITY_HOST: '0.0.0.0', CAPACITY_PORT: '8080', CAPACITY_CONTROL_HOST: '0.0.0.0' },
    ...{ CAPACITY_CONTROL_PORT: '9090', CAPACITY_TOKEN: TOKEN, CAPACITY_WORKER: worker, ...env },
  });
  await started.said(/worker is up/);
}

function ip(...args: string[]): void {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'inherit'] });
}

/** @returns the namespace of process ids of a process; undefined if the process has ended */
function namespaceOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`);
  } catch {
    return undefined;
  }
}
