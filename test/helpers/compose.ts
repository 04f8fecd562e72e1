/**
 * Runs the services of Compose files. Each service is a container of test/helpers/container.ts in its own network
 * namespace. Commands, users, environment, volumes, tmpfs, limits and sysctls are those of the files. Differences:
 * - Programs of this machine (redis-server, nginx) replace foreign images. Redis gets `--protected-mode no`, the
 * default of its image.
 * - A hosts file resolves the names of services, instead of Docker's DNS. nginx reads it once at its start. Its
 * configuration therefore has no `resolver` and no `resolve`, which need nginx 1.27.3.
 * - `ports`, `restart`, `init` and `stop_grace_period` have no effect. A health check must succeed once.
 */
import { chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type EnterOptions, enter, newStage, type Stage } from './container.ts';
import { composeServices, DEPLOY, readDeployed, type Service, withoutResolver } from './deploy.ts';
import { NamespaceNetwork } from './namespaces.ts';
import { eventually } from './poll.ts';
import type { Cleaner } from './raw-listen.ts';
import { tempFolder } from './temp-folder.ts';

const PROXY = './nginx.compose.conf';

type Container = ReturnType<typeof enter>;

export class Composition {
  readonly #containers = new Map<string, Container>();
  readonly #services: Record<string, Service>;
  readonly #options = new Map<string, EnterOptions>();
  readonly #image: Stage;
  readonly #system: Stage;
  readonly #folder: string;

  /**
   * Creates the deployment. It ends with the test.
   * @param image the built image
   * @param variables variables of the shell that calls Compose
   */
  constructor(t: Cleaner, composeFiles: string[], image: Stage, variables: Record<string, string>) {
    this.#image = image;
    this.#folder = tempFolder(t);
    this.#system = newStage(this.#folder, 'system');
    const services = composeFiles.flatMap((file) => Object.entries(composeServices(file, variables)));
    this.#services = Object.fromEntries(services.flatMap(([name, service]) => replicas(name, service)));
    const network = new NamespaceNetwork(t);
    const hosts = Object.keys(this.#services).map((name) => [name, network.host(name, 0)] as const);
    const names = join(this.#folder, 'hosts');
    writeFileSync(
      names,
      ['127.0.0.1 localhost', ...hosts.map(([name, { address }]) => `${address} ${name}`), ''].join('\n'),
    );
    for (const [name, { within }] of hosts) {
      const { environment, user, tmpfs, ulimits, sysctls = {}, volumes = [] } = this.#services[name] as Service;
      const mounts = volumes.map((volume) => volume.split(':')).map(([from = '', to = '']) => [to, this.volume(from)]);
      this.#options.set(name, {
        ...{ within, user, tmpfs, env: environment, openFiles: ulimits?.nofile.hard },
        mounts: { '/etc/hosts': names, ...Object.fromEntries(mounts) },
        sysctls: Object.fromEntries(Object.entries(sysctls).map(([key, value]) => [key.replaceAll('.', '/'), value])),
      });
    }
    t.after(async () => {
      for (const container of this.#containers.values()) container.kill('SIGKILL');
      await Promise.all(this.#containers.values());
    });
  }

  /**
   * Starts all services in the order of their dependencies.
   * @throws Error if a dependency fails
   */
  async up(): Promise<void> {
    const started = new Map<string, Promise<void>>();
    const start = (name: string): Promise<void> => {
      const known = started.get(name);
      if (known) return known;
      const starting = this.#start(name, start);
      started.set(name, starting);
      return starting;
    };
    await Promise.all(Object.keys(this.#services).map(start));
  }

  /** @returns exit code and output of a service after its end */
  async ended(name: string): Promise<{ exitCode?: number; all: string }> {
    return await (this.#containers.get(name) as Container);
  }

  /** @returns the folder or file that is mounted for a volume */
  volume(from: string): string {
    if (from.startsWith('/')) return from;
    if (from === PROXY) return this.#staticProxy();
    if (from.startsWith('.')) return join(DEPLOY, from);
    const folder = join(this.#folder, from);
    mkdirSync(folder, { recursive: true });
    // The folder gets the same owner as in the image.
    chownSync(folder, 1000, 1000);
    return folder;
  }

  async #start(name: string, start: (name: string) => Promise<void>): Promise<void> {
    const { command, build, depends_on = [] } = this.#services[name] as Service;
    const dependencies = Array.isArray(depends_on)
      ? depends_on.map((other) => [other, 'service_started'] as const)
      : Object.entries(depends_on).map(([other, { condition }]) => [other, condition] as const);
    for (const [other, condition] of dependencies) {
      await start(other);
      await this.#fulfils(other, condition);
    }
    const image = build ? this.#image : this.#system;
    const program = [command].flat();
    if (program[0] === 'redis-server') program.push('--protected-mode', 'no');
    this.#containers.set(name, enter(image, program, this.#options.get(name)));
  }

  async #fulfils(name: string, condition: string): Promise<void> {
    const container = this.#containers.get(name) as Container;
    if (condition === 'service_completed_successfully') {
      const { exitCode, all } = await container;
      if (exitCode !== 0) throw new Error(`${name} ended with ${exitCode}:\n${all}`);
    } else if (condition === 'service_healthy') {
      const [, ...check] = this.#services[name]?.healthcheck?.test ?? [];
      const isHealthy = async () => (await enter(this.#image, check, this.#options.get(name))).exitCode === 0;
      const isOver = container.then(({ all }) => Promise.reject(new Error(`${name} ended:\n${all}`)));
      await Promise.race([eventually(`${name} is healthy`, isHealthy), isOver]);
    }
  }

  #staticProxy(): string {
    const file = join(this.#folder, 'nginx.conf');
    writeFileSync(file, withoutResolver(readDeployed(PROXY)));
    return file;
  }
}

/** @returns a service for each replica, with numbers from 2 on */
function replicas(name: string, service: Service): [string, Service][] {
  const count = Number(service.deploy?.replicas ?? 1);
  return Array.from({ length: count }, (_, index) => [index === 0 ? name : `${name}-${index + 1}`, service]);
}
