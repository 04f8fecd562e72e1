// The Socket.IO workers under PM2: one app per worker, in fork mode, each on a port of its own. That is what lets nginx
// send a session back to its worker; PM2's cluster mode shares one port and needs extra software for that.
// `npx socketio-capacity stack up` sets the STACK_* variables; `pm2 start ecosystem.config.js` by hand works without them.
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';

const { STACK_PORTS, STACK_CONTROL_PORTS, STACK_TOKEN, STACK_REDIS_URL, STACK_LOG_DIR, STACK_NODE } = process.env;

const numbers = (list) => list?.split(',').map(Number);
const ports = numbers(STACK_PORTS);
const controlPorts = numbers(STACK_CONTROL_PORTS);
const redisUrl = STACK_REDIS_URL ?? process.env.REDIS_URL;
// Without the in-between of Redis several workers could not see each other's rooms.
const count = ports?.length ?? (redisUrl ? availableParallelism() : 1);
// By hand: `pm2 env 0` shows it.
const token = STACK_TOKEN ?? randomBytes(24).toString('base64url');

export const apps = Array.from({ length: count }, (_, index) => {
  const id = `w${index}`;
  return {
    name: id,
    cwd: import.meta.dirname,
    // TypeScript in a checkout, JavaScript in the published package.
    script: ['server/main.ts', 'server/main.js'].find((file) => existsSync(join(import.meta.dirname, file))),
    interpreter: STACK_NODE ?? process.execPath,
    // One helper thread of V8 for each worker, not four: several workers on a few cores would wait for each other's.
    node_args: ['--v8-pool-size=1'],
    exec_mode: 'fork',
    // Online means listening, and not only spawned.
    wait_ready: true,
    listen_timeout: 20_000,
    // Longer than the worker's own limit for letting its connections go.
    kill_timeout: 15_000,
    // A worker that crashes comes back, and PM2's restart count tells.
    autorestart: true,
    // A worker has no children: no need to look for them with `ps` on stopping.
    treekill: false,
    // No agent of PM2's inside the worker: it would cost memory that is not the server's.
    pmx: false,
    vizion: false,
    // Stripping types moves nothing, so stack traces are right without maps, which cost 10 MB a worker.
    disable_source_map_support: true,
    ...(STACK_LOG_DIR && {
      out_file: join(STACK_LOG_DIR, `${id}.log`),
      error_file: join(STACK_LOG_DIR, `${id}.log`),
      merge_logs: true,
    }),
    env: {
      CAPACITY_WORKER: id,
      CAPACITY_HOST: '127.0.0.1',
      CAPACITY_PORT: String(ports?.[index] ?? 3100 + index),
      CAPACITY_CONTROL_HOST: '127.0.0.1',
      CAPACITY_CONTROL_PORT: String(controlPorts?.[index] ?? 3200 + index),
      CAPACITY_TOKEN: token,
      ...(redisUrl && { REDIS_URL: redisUrl }),
    },
  };
});
