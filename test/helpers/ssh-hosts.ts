/**
 * Linux namespaces that stand for hosts, which `ssh` can reach by name. Each has its own sshd and its own home of root,
 * so the configuration of this machine is neither read nor changed.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { findTool } from '../../server/stack/tools.ts';
import { type NamespaceHost, type NamespaceNetwork, whyNoNamespaces } from './namespaces.ts';
import type { HostProcess } from './process.ts';
import { tempFolder } from './temp-folder.ts';
import { missingTools } from './tools.ts';

const PORT = 2222;

/** @returns why this machine cannot have such hosts; false if it can */
export function whyNoSshHosts(): string | false {
  return whyNoNamespaces() || missingTools('sshd', 'ssh', 'ssh-keygen', 'npx', 'setsid');
}

interface SshHost extends NamespaceHost {
  name: string;
  /** Home of root on the host. */
  home: string;
  sshd: HostProcess;
}

export class SshHosts {
  readonly #folder: string;
  readonly #network: NamespaceNetwork;
  readonly #hosts: SshHost[] = [];

  /** Creates the hosts. They are removed after the test. */
  constructor(t: TestContext, network: NamespaceNetwork) {
    this.#network = network;
    this.#folder = tempFolder(t);
    for (const key of ['user', 'host']) {
      execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(this.#folder, key)]);
    }
  }

  async add(name: string, aheadSeconds: number): Promise<SshHost> {
    const home = join(this.#folder, name);
    mkdirSync(home);
    const host = { ...this.#network.host(name, aheadSeconds), name, home };
    const config = join(this.#folder, `${name}.sshd`);
    const options = {
      ...{ ListenAddress: `${host.address}:${PORT}`, HostKey: join(this.#folder, 'host'), PidFile: 'none' },
      ...{ AuthorizedKeysFile: join(this.#folder, 'user.pub'), AuthenticationMethods: 'publickey' },
      // Disables sshd's check of permissions, because folders for temporary files are writable by all users.
      ...{ UsePAM: 'no', StrictModes: 'no', SetEnv: `PATH=${dirname(findTool('npx') ?? '')}:/usr/bin:/bin` },
    };
    writeFileSync(config, lines(options));
    const sshd = this.#start(host, ['/usr/sbin/sshd', '-D', '-e', '-f', config]);
    await sshd.said(/listening/);
    this.#hosts.push({ ...host, sshd });
    return { ...host, sshd };
  }

  /**
   * Runs a command line like in a terminal of the host, in the home of root. `ssh` can reach all hosts added so far.
   * @returns the process, and a function that sends Ctrl-C
   */
  type(host: SshHost, line: string, env: Record<string, string>) {
    const known = join(this.#folder, 'known_hosts');
    const hostKey = readFileSync(join(this.#folder, 'host.pub'), 'utf8');
    writeFileSync(known, this.#hosts.map(({ address }) => `[${address}]:${PORT} ${hostKey}`).join(''));
    const key = join(this.#folder, 'user');
    const entries = this.#hosts.map(({ name, address }) => {
      const options = { HostName: address, Port: PORT, IdentityFile: key, UserKnownHostsFile: known };
      return `Host ${name}\n${lines(options)}`;
    });
    mkdirSync(join(host.home, '.ssh'), { recursive: true, mode: 0o700 });
    writeFileSync(join(host.home, '.ssh/config'), entries.join(''));
    // Starts the command through `setsid`, because the first process of a namespace ignores signals.
    const typed = this.#start(host, ['sh', '-c', 'setsid --wait bash -c "$1"; exit $?', 'sh', line], env);
    return { ...typed, interrupt: () => void process.kill(-foreground(typed), 'SIGINT') };
  }

  #start(
    { start, name, home }: Omit<SshHost, 'sshd'>,
    command: string[],
    env: Record<string, string> = {},
  ): HostProcess {
    const passwd = join(this.#folder, `${name}.passwd`);
    const entries = readFileSync('/etc/passwd', 'utf8');
    writeFileSync(passwd, entries.replace(/^(root:(?:[^:]*:){4})[^:]*/m, `$1${home}`));
    const own = `mount --bind ${passwd} /etc/passwd && mount -t tmpfs none /run && mkdir /run/sshd && cd ${home}`;
    return start(['sh', '-c', `${own} && exec "$@"`, 'sh', ...command], { HOME: home, ...env });
  }
}

/** @returns the process group of the command line */
function foreground({ child }: HostProcess): number {
  const childOf = (pid: number) => Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')[0]);
  return childOf(childOf(child.pid as number));
}

function lines(options: Record<string, string | number>): string {
  return Object.entries(options)
    .map(([name, value]) => `${name} ${value}\n`)
    .join('');
}
