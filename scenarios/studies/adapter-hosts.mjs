/**
 * Starts the deployment of adapter-hosts.yml: Redis and workers of the bundled server, each in a network namespace that
 * stands for a host.
 *
 *   node adapter-hosts.mjs <number of worker hosts>
 *
 * Host 0 is Redis. Host i has the address 198.18.i.1, a link `load` to this machine, and a link `redis` to host 0. At
 * its end, the program removes the namespaces, and their links with them.
 */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { fileURLToPath } from 'node:url';

const hosts = Array.from({ length: Number(process.argv[2]) }, (_, index) => index + 1);
const addressOf = (host) => `198.18.${host}.1`;
const namespaceOf = (host) => `capacity-host-${host}`;
const children = [];

function ip(line) {
  execFileSync('ip', line.split(' '), { stdio: ['ignore', 'ignore', 'inherit'] });
}

function listed(line, pattern) {
  return execFileSync('ip', line.split(' '), { encoding: 'utf8' }).match(pattern) ?? [];
}

/** Removes links and namespaces, also those that a killed program left. A link can outlive its namespace by minutes. */
function removeHosts() {
  for (const link of listed('-o link show type veth', /capacity\d+(?=@)/g)) ip(`link delete ${link}`);
  for (const namespace of listed('netns list', /^capacity-host-\d+/gm)) ip(`netns delete ${namespace}`);
}

function addHost(host) {
  const [namespace, address] = [namespaceOf(host), addressOf(host)];
  ip(`netns add ${namespace}`);
  ip(`link add capacity${host} type veth peer name load netns ${namespace}`);
  ip(`address add 198.18.${host}.254/24 dev capacity${host}`);
  ip(`link set capacity${host} up`);
  ip(`-n ${namespace} address add ${address}/24 dev load`);
  for (const link of ['lo', 'load']) ip(`-n ${namespace} link set ${link} up`);
}

/** Connects a worker's host to Redis. Each packet has one segment, as on a network card. */
function linkToRedis(host) {
  const [redis, worker] = [namespaceOf(0), namespaceOf(host)];
  ip(`-n ${redis} link add worker${host} type veth peer name redis netns ${worker}`);
  for (const [namespace, link, to, from] of [
    [redis, `worker${host}`, addressOf(host), addressOf(0)],
    [worker, 'redis', addressOf(0), addressOf(host)],
  ]) {
    ip(`-n ${namespace} link set ${link} gso_max_segs 1 up`);
    ip(`-n ${namespace} route add ${to}/32 dev ${link} src ${from}`);
  }
}

function start(host, command, env = {}) {
  const args = ['netns', 'exec', namespaceOf(host), ...command];
  const child = spawn('ip', args, { stdio: 'inherit', env: { ...process.env, ...env } });
  child.on('exit', () => process.exit(1));
  children.push(child);
}

async function isHealthy(host) {
  return fetch(`http://${addressOf(host)}:9090/healthz`).then(
    ({ ok }) => ok,
    () => false,
  );
}

if (process.getuid?.() !== 0) {
  console.error('adapter-hosts.mjs: network namespaces need root on Linux; run the study with sudo');
  process.exit(1);
}
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
  removeHosts();
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(0));

removeHosts();
for (const host of [0, ...hosts]) addHost(host);
for (const host of hosts) linkToRedis(host);
start(0, ['redis-server', '--bind', '0.0.0.0', '--protected-mode', 'no', '--save', '']);
const [inCheckout, inPackage] = ['../../server/main.ts', '../../dist/server/main.js'].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
);
const worker = existsSync(inCheckout) ? inCheckout : inPackage;
for (const host of hosts) {
  start(host, [process.execPath, '--expose-gc', worker], {
    ...{ CAPACITY_WORKER: `host${host}`, CAPACITY_HOST: '0.0.0.0', CAPACITY_PORT: '8080' },
    ...{ CAPACITY_CONTROL_HOST: '0.0.0.0', CAPACITY_CONTROL_PORT: '9090' },
  });
}
for (const host of hosts) while (!(await isHealthy(host))) await new Promise((resolve) => setTimeout(resolve, 100));

let next = 0;
createServer({ noDelay: true }, (client) => {
  const server = connect({ host: addressOf(hosts[next++ % hosts.length]), port: 8080, noDelay: true });
  for (const [from, to] of [
    [client, server],
    [server, client],
  ])
    from
      .on('error', () => {})
      .on('close', () => to.destroy())
      .pipe(to);
}).listen(8000, '127.0.0.1');
