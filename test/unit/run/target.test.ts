import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requireWorkers } from '../../../plugin/run/target/require-workers.ts';
import { openRunTarget } from '../../../plugin/run/target/target.ts';
import type { Settings } from '../../../plugin/script/settings.ts';
import { thisHost } from '../../../protocol/base/machine/this-host.ts';
import type { WorkerStats } from '../../../protocol/wire/events.ts';
import { workerStats } from '../../helpers/fake-run.ts';
import { hookConfig } from '../../helpers/measurements.ts';
import { assertNames } from '../../helpers/verdict.ts';
import { VirtualTime } from '../../helpers/virtual-time.ts';

const here = thisHost();
const worker = (pid: number, host = here) => ({ pid, host }) as WorkerStats;

const open = (config: Settings, log: (text: string) => void = () => {}) =>
  openRunTarget(config, 10, log, new AbortController().signal);
const NEITHER = { control: undefined, stack: undefined };
const controlled = (urls: string[]) => hookConfig({ control: { urls, token: 'token-of-the-tests' } });

for (const [what, workers, pids] of [
  ['on this machine are read', [worker(7), worker(8)], [7, 8]],
  ['partly on another machine are not read', [worker(7), worker(8, { ...here, kernel: 'another' })], []],
  ['in a container with a separate PID namespace are not read', [worker(1, { ...here, pidNamespace: 'pid:[1]' })], []],
] as const) {
  test(`processes of workers ${what}`, async () => {
    // The addresses of a tunnel hide the machine behind it.
    const target = await open(controlled(workers.map((_, index) => `http://127.0.0.1:${4000 + index}`)));
    assert.deepEqual((await target.pids([...workers])).worker, pids);
  });
}

test('reports an unencrypted token once for all workers', async () => {
  const warnings = async (...urls: string[]) => {
    const logged: string[] = [];
    await open(controlled(urls), (text) => logged.push(text));
    return logged;
  };
  const [warning = '', ...others] = await warnings('http://10.0.0.11:3200', 'https://10.0.0.12:3200', 'ws://b.example');
  assert.deepEqual(others, []);
  assertNames(warning, ['10.0.0.11:3200', 'b.example']);
  assert.doesNotMatch(warning, /token-of-the-tests|10\.0\.0\.12/);
  for (const local of ['http://127.0.0.1:3200', 'http://localhost:1', 'http://[::1]:1', 'http://127.1']) {
    assert.deepEqual(await warnings(local), []);
  }
  assert.equal((await warnings('http://127.attacker.example')).length, 1);
});

for (const target of ['http://localhost:3000', 'http://127.0.0.5:3999']) {
  test(`starts nothing for the user’s own scenario at ${target}, where no server listens`, async () => {
    const { profile, url, control, stack } = await open(hookConfig({}, { target }));
    assert.deepEqual({ profile, url, control, stack }, { profile: 'remote', url: target, ...NEITHER });
  });
}

test('a server on another machine needs no control port, unless an external engine drives the load', async () => {
  const config = hookConfig({}, { target: 'https://staging.example.com' });
  assert.equal((await open(config)).control, undefined);
  await assert.rejects(open({ ...config, engine: 'socketio-v3' }), { code: 'CONTROL_MISSING' });
});

const named = (name: string, instance: string) => ({ ...workerStats(name, 0), instance });

function check(workers: ReturnType<typeof named>[], servers: (number | undefined)[]) {
  const control = { size: workers.length, stats: async () => workers, servers: async () => servers.shift() };
  const logged: string[] = [];
  const { signal } = new AbortController();
  return requireWorkers(control, { bytes: 1, binary: false }, (text) => logged.push(text), signal).then(() => logged);
}

const oneWorker = [named('w0', 'a')];
const two = [named('w0', 'a'), named('w1', 'b')];

test('accepts the workers if all are configured, or if the adapter does not count servers', async () => {
  assert.deepEqual(await check(two, [2]), []);
  assert.deepEqual(await check(two, [1]), [], 'they have no adapter in common');
  assert.deepEqual(await check(oneWorker, [undefined]), []);
});

test('refuses one worker process at two addresses, and two workers with one name', async () => {
  for (const [second, message] of [
    [named('w0', 'a'), /2 .* same process, w0/],
    [named('w0', 'b'), /2 .* same name, w0/],
  ] as const) {
    await assert.rejects(check([...oneWorker, second], []), { code: 'WORKER_URLS_WRONG', message });
  }
});

test('waits while the adapter still counts an ended worker, and refuses an unknown worker', async (t) => {
  const time = new VirtualTime(t);
  const [line] = await time.until(check(oneWorker, [2, 2, 1]));
  assert.match(line ?? '', /2 servers.* 1;/);
  const message = /3 servers.* 1: w0/;
  const ended = check(oneWorker, Array<number>(50).fill(3));
  await assert.rejects(time.until(ended), { code: 'WORKER_URLS_WRONG', message });
});

const limited = (maxHttpBufferSize: string, index: number) => ({
  ...named(`w${index}`, String(index)),
  server: { kind: 'own' as const, tunings: {}, options: { maxHttpBufferSize } },
});

/** Limits of the workers, and the limit that refuses the payload. */
const CASES: [what: string, bytes: number, limits: string[], refusedBy?: string, binary?: boolean][] = [
  ['above the limit of one worker', 4_000_000, ['10000000', '1000000'], '1000000'],
  ['text without room for its envelope', 1_000_000, ['1000000'], '1000000'],
  ['binary at the limit, which needs no envelope', 1_000_000, ['1000000'], undefined, true],
  ['text within the limit', 999_000, ['1000000']],
  ['above an unknown limit', 4_000_000, ['not set']],
  ['without control ports', 4_000_000, []],
];
for (const [what, bytes, limits, refusedBy, binary = false] of CASES) {
  test(`a payload ${what}: ${refusedBy ? 'refused' : 'fits'}`, async () => {
    const workers = limits.map(limited);
    const control = { size: workers.length, stats: async () => workers, servers: async () => undefined };
    const checked = requireWorkers(control, { bytes, binary }, () => {}, new AbortController().signal);
    if (!refusedBy) return checked;
    await assert.rejects(checked, (error: Error & { code: string }) => {
      assertNames(error.message, [bytes, `w${limits.indexOf(refusedBy)}`, refusedBy]);
      return error.code === 'CONFIG_INVALID';
    });
  });
}
