/** nginx in front of the workers: its configuration and its worker processes. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { attempt } from '../../protocol/base/attempt.ts';
import { CapacityError } from '../../protocol/codes/errors.ts';
import { type CertificateFiles, makeCertificate } from './certificate.ts';
import type { Plan } from './plan.ts';
import { childrenOf } from './state/stack-processes.ts';
import { isWell } from './wait-until-well.ts';

/** The configuration of the proxy, with names in double braces. */
export const TEMPLATE = join(import.meta.dirname, '../../nginx/nginx.conf.template');

export interface NginxOptions {
  port: number;
  statusPort: number;
  /** Clients speak TLS with it; it speaks plain HTTP with the workers. */
  tls: boolean;
  /** How long a connection may be silent. */
  timeoutSeconds: number;
  plan: Plan['nginx'];
  /** Upstreams: a session id that begins with `<id>-` goes to that worker. */
  workers: { id: string; port: number }[];
  /** For the configuration, the pid and temporary files. */
  dir: string;
  logDir: string;
}

/**
 * Replaces `{{NAMES}}`. All lines of a value get the indentation of its placeholder.
 * @throws Error when the template has a name without a value, or a value is not used
 */
export function render(template: string, values: Record<string, string | number>): string {
  const unused = new Set(Object.keys(values));
  const text = template.replace(/^([ \t]*)(.*)$/gm, (_line, indent: string, rest: string) => {
    const filled = rest.replace(/\{\{([A-Z_]+)\}\}/g, (placeholder, name: string) => {
      unused.delete(name);
      const value = values[name];
      if (value === undefined) throw new Error(`nginx template: no value for ${placeholder}`);
      return String(value).replaceAll('\n', `\n${indent}`);
    });
    return filled ? indent + filled : '';
  });
  if (unused.size > 0) throw new Error(`nginx template: no place for ${[...unused].join(', ')}`);
  return text;
}

export function templateValues(
  options: NginxOptions,
  certificate: CertificateFiles | undefined,
): Record<string, string | number> {
  const { plan, workers, dir } = options;
  // A master that runs as root would run its workers as `nobody`, who has no access to the state folder.
  const asRoot = process.getuid?.() === 0;
  return {
    USER: asRoot ? `user ${userInfo().username};` : '',
    DIR: quotable(dir),
    ERROR_LOG: quotable(join(options.logDir, 'nginx.log')),
    WORKERS: plan.workers,
    OPEN_FILES: plan.openFilesPerWorker,
    CONNECTIONS: plan.connectionsPerWorker,
    ALL_SERVERS: workers.map((worker) => server(worker.port)).join('\n'),
    WORKER_UPSTREAMS: workers.map(({ id, port }) => `upstream ${id} { ${server(port)} }`).join('\n'),
    SESSIONS: workers.map(({ id }) => `~^${id}- ${id};`).join('\n'),
    SOURCE_ADDRESSES: sourceAddresses(plan.sourceAddresses),
    ADDRESS: '127.0.0.1',
    PORT: options.port,
    STATUS_PORT: options.statusPort,
    TIMEOUT_SECONDS: options.timeoutSeconds,
    TLS: certificate ? tlsLines(certificate) : '',
    // One listen queue per nginx worker, among which the kernel distributes connections. Only Linux does so evenly.
    LISTEN_OPTIONS: [
      'backlog=4096',
      ...(process.platform === 'linux' ? ['reuseport'] : []),
      ...(certificate ? ['ssl'] : []),
    ].join(' '),
  };
}

function tlsLines({ certFile, keyFile }: CertificateFiles): string {
  return [
    `ssl_certificate "${quotable(certFile)}";`,
    `ssl_certificate_key "${quotable(keyFile)}";`,
    'ssl_protocols TLSv1.2 TLSv1.3;',
    'ssl_buffer_size 2k;',
  ].join('\n');
}

/** @returns the path, escaped for double quotes in nginx's configuration */
function quotable(path: string): string {
  return path.replace(/["\\]/g, '\\$&');
}

/** Equal shares; the last line takes the rest. */
function sourceAddresses(count: number): string {
  const share = (100 / count).toFixed(2);
  const lines = Array.from({ length: count - 1 }, (_, index) => `${share}% 127.0.0.${index + 2};`);
  return [...lines, '* 127.0.0.1;'].join('\n');
}

function server(port: number): string {
  // Without it, one slow response in a ramp takes a worker out of service, and nginx answers 502 for ten seconds.
  return `server 127.0.0.1:${port} max_fails=0;`;
}

/**
 * Writes `nginx.conf` and, for TLS, a certificate into the folder, and checks them (`nginx -t`).
 * @throws CapacityError `START_FAILED`
 */
export async function configureNginx(nginx: string, options: NginxOptions): Promise<void> {
  mkdirSync(options.dir, { recursive: true, mode: 0o700 });
  const configFile = join(options.dir, 'nginx.conf');
  const certificate = options.tls ? await makeCertificate(options.dir) : undefined;
  const config = render(readFileSync(TEMPLATE, 'utf8'), templateValues(options, certificate));
  writeFileSync(configFile, config, { mode: 0o600 });
  const check = await execa(nginx, ['-t', '-q', '-p', options.dir, '-c', configFile], { all: true, reject: false });
  if (!check.failed) return;
  throw new CapacityError(
    'START_FAILED',
    `nginx refuses its configuration ${configFile}:\n${check.all || check.shortMessage}`,
    'Correct what the lines above, which are nginx’s own, report; nginx/README.md explains each setting.',
  );
}

/** @returns whether nginx answers, with all of its workers @param workers planned number */
export async function nginxAnswers(pid: number, statusUrl: string, workers: number): Promise<boolean> {
  if (!(await isWell(statusUrl))) return false;
  // An nginx worker has answered, so if none is visible, the system hides them.
  const count = childrenOf(pid).length;
  return count === 0 || count >= workers;
}

/** @returns whether it is a worker that a reload has replaced, and that only waits for its last connections to end */
export function isRetiring(pid: number): boolean {
  // The title that nginx gives its processes; only Linux shows it here.
  return attempt(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('shutting down')) ?? false;
}

/** How often the workers of a stack ping. */
export interface Ping {
  intervalMs: number;
  /** How long a worker waits for the answer. */
  timeoutMs: number;
}

const MIN_PROXY_TIMEOUT_SECONDS = 90;

/** The workers inherit the environment and read the same variables, which they check. */
export function pingOf(env: NodeJS.ProcessEnv): Ping {
  return {
    intervalMs: Number(env.CAPACITY_PING_INTERVAL_MS || 25_000),
    timeoutMs: Number(env.CAPACITY_PING_TIMEOUT_MS || 20_000),
  };
}

/** @returns the proxy's: twice a ping cycle, so that Socket.IO finds dead connections, and never the proxy */
export function proxyTimeoutSeconds({ intervalMs, timeoutMs }: Ping): number {
  return Math.max(MIN_PROXY_TIMEOUT_SECONDS, Math.ceil((2 * (intervalMs + timeoutMs)) / 1000));
}
