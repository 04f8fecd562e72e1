// The deployment under PM2: the nodes of Redis, the Socket.IO workers and nginx. Each worker is an app in fork mode, on a port of
// its own. That is what lets nginx send a session back to its worker; PM2's cluster mode shares one port and needs extra
// software for that.
// `npx socketio-capacity stack up` writes the configuration of Redis and nginx, and sets the STACK_* variables.
// `pm2 start ecosystem.config.js` by hand works without them, and starts workers only.
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
// Without Redis several workers could not see each other's rooms.
const count = ports?.length ?? (redisUrl ? availableParallelism() : 1);
// By hand: `pm2 env 0` shows it.
const token = STACK_TOKEN ?? randomBytes(24).toString('base64url');

const app = (name, options) => ({
  name,
  exec_mode: 'fork',
  // No search with `ps` for children on stopping: a worker has none, and nginx stops its own.
  treekill: false,
  // No agent of PM2's inside the process: it would cost memory that is not the server's.
  pmx: false,
  vizion: false,
  ...(STACK_HOME && {
    out_file: join(STACK_HOME, 'logs', `${name}.log`),
    error_file: join(STACK_HOME, 'logs', `${name}.log`),
    merge_logs: true,
  }),
  ...options,
});

/** A crash of Redis or nginx must show in a run, so PM2 does not start them again. */
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
    // One helper thread of V8 for each worker, not four: several workers on a few cores would wait for each other's.
    node_args: ['--v8-pool-size=1'],
    // Online means listening, and not only spawned.
    wait_ready: true,
    listen_timeout: 20_000,
    // Longer than the worker's own limit for letting its connections go.
    kill_timeout: 15_000,
    // A worker that crashes comes back, and PM2's restart count tells.
    autorestart: true,
    // Stripping types moves nothing, so stack traces are right without maps, which cost 10 MB a worker.
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
