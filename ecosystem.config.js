// The deployment under PM2: Redis nodes, Socket.IO workers and nginx. Each worker is an app in fork mode with its own port, so that nginx
// can route a session to its worker. PM2's cluster mode shares one port and would need extra software for that. `npx socketio-capacity
// stack up` writes the configuration of Redis and nginx, and sets the STACK_* variables. Without them (`pm2 start ecosystem.config.js`),
// only workers are started.
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';

const { STACK_HOME, STACK_PORTS, STACK_CONTROL_PORTS, STACK_TOKEN, STACK_NODE } = process.env;
const { STACK_REDIS_URL, STACK_REDIS_SERVER, STACK_REDIS_NODES, STACK_NGINX } = process.env;

const numbers = (list) => list?.split(',').map(Number);
const ports = numbers(STACK_PORTS);
const controlPorts = numbers(STACK_CONTROL_PORTS);
const redisUrl = STACK_REDIS_URL ?? process.env.REDIS_URL;
// Without Redis, workers do not share rooms, so only one is started.
const count = ports?.length ?? (redisUrl ? availableParallelism() : 1);
// A generated token is shown by `pm2 env 0`.
const token = STACK_TOKEN ?? randomBytes(24).toString('base64url');

const app = (name, options) => ({
  name,
  exec_mode: 'fork',
  // Skips the search for child processes with `ps`: workers have none, and nginx stops its own.
  treekill: false,
  // Disables PM2's agent inside the process, whose memory would count as the server's.
  pmx: false,
  vizion: false,
  ...(STACK_HOME && {
    out_file: join(STACK_HOME, 'logs', `${name}.log`),
    error_file: join(STACK_HOME, 'logs', `${name}.log`),
    merge_logs: true,
  }),
  ...options,
});

/** Options of Redis and nginx. PM2 does not restart them, so that a crash shows in the run. */
const server = (name, namespace, script, cwd, args) =>
  app(name, { namespace, script, interpreter: 'none', cwd, args, autorestart: false, kill_timeout: 5_000 });

const redis = Array.from({ length: Number(STACK_REDIS_NODES ?? 0) }, (_, index) => {
  const folder = join(STACK_HOME, 'redis', String(index));
  return server(`redis${index}`, 'redis', STACK_REDIS_SERVER, folder, [join(folder, 'redis.conf')]);
});

const workers = Array.from({ length: count }, (_, index) => {
  const id = `w${index}`;
  return app(id, {
    namespace: 'workers',
    cwd: import.meta.dirname,
    // TypeScript in a checkout, JavaScript in the published package.
    script: ['server/main.ts', 'server/main.js'].find((file) => existsSync(join(import.meta.dirname, file))),
    interpreter: STACK_NODE ?? process.execPath,
    // One V8 helper thread per worker instead of four, because several workers share few cores.
    node_args: ['--v8-pool-size=1'],
    // A worker counts as online once it listens.
    wait_ready: true,
    listen_timeout: 20_000,
    // Longer than the worker's own shutdown timeout.
    kill_timeout: 15_000,
    // PM2 restarts a crashed worker and counts the restarts.
    autorestart: true,
    // Type stripping keeps positions, so stack traces are right without source maps, which take 10 MB per worker.
    disable_source_map_support: true,
    env: {
      CAPACITY_WORKER: id,
      CAPACITY_HOST: '127.0.0.1',
      CAPACITY_PORT: String(ports?.[index] ?? 3100 + index),
      CAPACITY_CONTROL_HOST: '127.0.0.1',
      CAPACITY_CONTROL_PORT: String(controlPorts?.[index] ?? 3200 + index),
      CAPACITY_TOKEN: token,
      ...(redisUrl && { REDIS_URL: redisUrl }),
    },
  });
});

const nginxFolder = join(STACK_HOME ?? '', 'nginx');
const nginxArguments = ['-p', nginxFolder, '-c', join(nginxFolder, 'nginx.conf')];
const nginx = STACK_NGINX ? [server('nginx', 'nginx', STACK_NGINX, nginxFolder, nginxArguments)] : [];

export const apps = [...redis, ...workers, ...nginx];
