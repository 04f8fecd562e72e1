/** Servers of other projects, in test/fixtures/neighbours. Each runs in its own process. */
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformSync } from 'esbuild';
import { eventually } from './poll.ts';
import { startProcess } from './process.ts';
import type { Cleaner } from './raw-listen.ts';
import { freePort } from './redis.ts';
import { missingTools } from './tools.ts';

const FIXTURES = fileURLToPath(new URL('../fixtures/neighbours/', import.meta.url));

/** Folder in which prepare.sh has installed the packages of these servers. */
const PREPARED = process.env.CAPACITY_NEIGHBOURS;

export interface Neighbour {
  name: string;
  /** File in test/fixtures/neighbours. Missing if prepare.sh has built the server. */
  file?: string;
  /** Folder below the prepared folder. Missing if the server uses packages of this repository. */
  folder?: string;
  /** Program, or its path below the folder. Default: this Node. */
  command?: string;
  args?: string[];
  env?: Record<string, string>;
}

const BUN = 'node_modules/.bin/bun';

export const NEIGHBOURS = {
  plain: { name: 'Socket.IO 4', file: 'chat.mjs' },
  socketIo3: { name: 'Socket.IO 3', file: 'chat.mjs', folder: 'socket.io-3' },
  nest: { name: 'NestJS', file: 'nest.ts', folder: 'nest' },
  uws: { name: 'µWebSockets.js', file: 'uws.mjs', folder: 'uws', command: 'node_modules/node/bin/node' },
  aiohttp: { name: 'python-socketio on aiohttp', file: 'chat_aiohttp.py', folder: 'python', command: 'bin/python' },
  asgi: { name: 'python-socketio on uvicorn', file: 'chat_uvicorn.py', folder: 'python', command: 'bin/python' },
  netty: {
    name: 'netty-socketio',
    folder: 'netty',
    command: 'java',
    args: ['-cp', 'target/chat-1.jar:target/dependency/*', 'Chat'],
  },
  bun: { name: 'Socket.IO on Bun', file: 'chat.mjs', folder: 'bun', command: BUN },
  bunEngine: { name: 'bun-engine', file: 'bun-engine.mjs', folder: 'bun', command: BUN },
  next: { name: 'Next.js', folder: 'next', args: ['server.mjs'] },
  express: { name: 'Express', file: 'express.mjs', folder: 'express' },
} satisfies Record<string, Neighbour>;

/** @returns why the server cannot run here; undefined if it can */
export function whyNot({ folder }: Neighbour): string | undefined {
  if (folder === undefined) return undefined;
  if (PREPARED === undefined) return 'CAPACITY_NEIGHBOURS is not set: see test/fixtures/neighbours/prepare.sh';
  return existsSync(join(PREPARED, folder)) ? undefined : `there is no ${join(PREPARED, folder)}`;
}

/**
 * Starts the server. It is stopped after the test.
 * @returns its URL, when it responds
 */
export async function startNeighbour(t: Cleaner, neighbour: Neighbour, env: Record<string, string> = {}) {
  const PORT = `${await freePort()}`;
  const { folder, file, command = process.execPath, args = [], env: own } = neighbour;
  const home = folder === undefined ? FIXTURES : join(PREPARED as string, folder);
  if (file !== undefined && folder !== undefined) place(file, home);
  const program = /^\w+\//.test(command) ? join(home, command) : command;
  startProcess(t, program, file === undefined ? args : [placed(file)], {
    cwd: home,
    env: { ...process.env, PORT, ...own, ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
    // Starts a process group, so that the server's workers are killed with it.
    detached: true,
  });
  const url = `http://127.0.0.1:${PORT}`;
  await answers(neighbour.name, url);
  return url;
}

/** A proxy in front of two servers. It has an address for each way of choosing a server. */
interface Proxy {
  name: string;
  /** Reason why the proxy cannot run here; false if it can. */
  missing: string | false;
  /** Addresses with sticky sessions: all requests of a session go to the same server. */
  sticky: string[];
  /** @param addresses address for each way of choosing a server */
  command(addresses: Record<string, string>): [program: string, ...args: string[]];
}

export const PROXIES: Proxy[] = [
  {
    name: 'HAProxy',
    missing: missingTools('haproxy'),
    sticky: ['BY_SESSION', 'BY_COOKIE'],
    command: () => ['haproxy', '-db', '-f', join(FIXTURES, 'haproxy.cfg')],
  },
  {
    name: 'Traefik',
    missing: missingTools('traefik'),
    sticky: ['BY_COOKIE', 'BY_SOURCE'],
    command: (addresses) => [
      'traefik',
      '--global.checkNewVersion=false',
      `--providers.file.filename=${join(FIXTURES, 'traefik.yml')}`,
      ...Object.entries(addresses).map(([way, address]) => `--entryPoints.${way.toLowerCase()}.address=${address}`),
    ],
  },
];

/**
 * Starts the proxy. It is stopped after the test.
 * @returns the URLs with sticky sessions, and the URL without
 */
export async function startProxy(t: Cleaner, proxy: Proxy, servers: [string, string]) {
  const ways = [...proxy.sticky, 'NOT_STICKY'];
  const addresses = Object.fromEntries(
    await Promise.all(ways.map(async (way) => [way, `127.0.0.1:${await freePort()}`])),
  );
  const [W1, W2] = servers.map((url) => new URL(url).host);
  const [program, ...args] = proxy.command(addresses);
  startProcess(t, program, args, { env: { ...process.env, W1, W2, ...addresses }, stdio: 'inherit' });
  const { NOT_STICKY: notSticky, ...sticky } = addresses;
  await answers(proxy.name, `http://${notSticky}`);
  return { notSticky: `http://${notSticky}`, sticky: Object.values(sticky).map((address) => `http://${address}`) };
}

/** Copies a file into the folder of its packages, so that its imports work. */
function place(file: string, home: string): void {
  const target = join(home, placed(file));
  if (file.endsWith('.ts')) writeFileSync(target, compiled(join(FIXTURES, file)));
  else copyFileSync(join(FIXTURES, file), target);
}

const placed = (file: string) => file.replace(/\.ts$/, '.mjs');

/** Compiles decorators, because Node does not support them. */
function compiled(path: string): string {
  const tsconfigRaw = { compilerOptions: { experimentalDecorators: true } };
  const text = readFileSync(path, 'utf8');
  return transformSync(text, { loader: 'ts', format: 'esm', target: 'es2022', tsconfigRaw }).code;
}

async function answers(name: string, url: string): Promise<void> {
  const handshake = () =>
    fetch(`${url}/socket.io/?EIO=4&transport=polling`).then(
      // Counts a status such as 401 or 403 as a response, too.
      ({ status }) => status < 500,
      () => false,
    );
  await eventually(`${name} answers`, handshake, 20_000);
}
