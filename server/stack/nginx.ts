/** Configures nginx in front of the workers, and checks nginx's worker processes. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { tryOrUndefined } from '../../protocol/base/try-or-undefined.ts';
import { CapacityError } from '../../protocol/codes/errors.ts';
import { type CertificateFiles, makeCertificate } from './certificate.ts';
import type { StackPlan } from './plan.ts';
import { childrenOf } from './state/stack-processes.ts';
import { respondsOk } from './wait-for.ts';

/** Template of the proxy's configuration. It has placeholders in double braces. */
export const NGINX_TEMPLATE = join(import.meta.dirname, '../../nginx/nginx.conf.template');

export interface NginxOptions {
  port: number;
  statusPort: number;
  /** Whether nginx terminates TLS. It connects to the workers over plain HTTP. */
  tls: boolean;
  /** Seconds after which nginx closes an idle connection. */
  timeoutSeconds: number;
  plan: StackPlan['nginx'];
  /** Upstream workers. nginx routes a session id that begins with `<id>-` to the worker with this id. */
  workers: { id: string; port: number }[];
  /** Folder with the configuration, the pid file and temporary files. */
  dir: string;
  logDir: string;
}

/**
 * Replaces placeholders such as `{{NAMES}}`. Every line of a value gets the indentation of its placeholder.
 * @throws Error if a placeholder has no value, or if a value has no placeholder
 */
export function renderTemplate(template: string, values: Record<string, string | number>): string {
  const unused = new Set(Object.keys(values));
  const text = template.replace(/^([ \t]*)(.*)$/gm, (_line, indent: string, rest: string) => {
    const replaced = rest.replace(/\{\{([A-Z_]+)\}\}/g, (placeholder, name: string) => {
      unused.delete(name);
      const value = values[name];
      if (value === undefined) throw new Error(`nginx template: no value for ${placeholder}`);
      return String(value).replaceAll('\n', `\n${indent}`);
    });
    return replaced ? indent + replaced : '';
  });
  if (unused.size > 0) throw new Error(`nginx template: no place for ${[...unused].join(', ')}`);
  return text;
}

export function nginxTemplateValues(
  options: NginxOptions,
  certificate: CertificateFiles | undefined,
): Record<string, string | number> {
  const { plan, workers, dir } = options;
  // Whether nginx is started as root. It would then run its workers as user `nobody`, which has no access to the state
  // folder.
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
    // Option `reuseport`: one listen queue per nginx worker. Only Linux distributes connections evenly among the
    // queues.
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

/** Escapes a path for a quoted string in nginx's configuration. */
function quotable(path: string): string {
  return path.replace(/["\\]/g, '\\$&');
}

/** Returns lines for `split_clients` that distribute connections evenly over source addresses. */
function sourceAddresses(count: number): string {
  const share = (100 / count).toFixed(2);
  const lines = Array.from({ length: count - 1 }, (_, index) => `${share}% 127.0.0.${index + 2};`);
  return [...lines, '* 127.0.0.1;'].join('\n');
}

function server(port: number): string {
  // The option `max_fails=0` keeps a slow worker in service. Otherwise, a single slow response during a ramp makes
  // nginx reply 502 for ten seconds.
  return `server 127.0.0.1:${port} max_fails=0;`;
}

/**
 * Writes `nginx.conf` and, for TLS, a certificate to the folder, and checks them with `nginx -t`.
 * @throws CapacityError `START_FAILED`
 */
export async function configureNginx(nginx: string, options: NginxOptions): Promise<void> {
  mkdirSync(options.dir, { recursive: true, mode: 0o700 });
  const configFile = join(options.dir, 'nginx.conf');
  const certificate = options.tls ? await makeCertificate(options.dir) : undefined;
  const config = renderTemplate(readFileSync(NGINX_TEMPLATE, 'utf8'), nginxTemplateValues(options, certificate));
  writeFileSync(configFile, config, { mode: 0o600 });
  const check = await execa(nginx, ['-t', '-q', '-p', options.dir, '-c', configFile], { all: true, reject: false });
  if (!check.failed) return;
  throw new CapacityError(
    'START_FAILED',
    `nginx rejects its configuration ${configFile}:\n${check.all || check.shortMessage}`,
    'Correct the errors above, reported by nginx; nginx/README.md explains each setting.',
  );
}

/**
 * Returns whether nginx replies and runs all of its workers.
 * @param workers planned number of workers
 */
export async function nginxAnswers(pid: number, statusUrl: string, workers: number): Promise<boolean> {
  if (!(await respondsOk(statusUrl))) return false;
  // An nginx worker has replied, so a count of 0 means that the system does not list child processes.
  const count = childrenOf(pid).length;
  return count === 0 || count >= workers;
}

/** Returns whether a reload has replaced this nginx worker. It then runs until its last connection closes. */
export function isRetiringNginxWorker(pid: number): boolean {
  // nginx sets the titles of its processes. They can be read here only on Linux.
  return tryOrUndefined(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('shutting down')) ?? false;
}

/** Ping settings of a stack's workers. */
export interface PingSettings {
  intervalMs: number;
  /** Time for which a worker waits for the pong, in milliseconds. */
  timeoutMs: number;
}

const MIN_PROXY_TIMEOUT_SECONDS = 90;

/** Reads the ping settings from the environment. The workers inherit the same variables and validate them. */
export function readPingSettings(env: NodeJS.ProcessEnv): PingSettings {
  return {
    intervalMs: Number(env.CAPACITY_PING_INTERVAL_MS || 25_000),
    timeoutMs: Number(env.CAPACITY_PING_TIMEOUT_MS || 20_000),
  };
}

/**
 * Returns the proxy's idle timeout of two ping cycles. Dead connections are then closed by Socket.IO, not by the proxy.
 */
export function proxyTimeoutSeconds({ intervalMs, timeoutMs }: PingSettings): number {
  return Math.max(MIN_PROXY_TIMEOUT_SECONDS, Math.ceil((2 * (intervalMs + timeoutMs)) / 1000));
}
