import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { sourceAddresses } from '../../../plugin/engine/engine.ts';
import { connectionsOfShare } from '../../../plugin/script/load/load.ts';
import { readScenarios } from '../../../plugin/script/scenarios.ts';
import { STEP_KINDS } from '../../../plugin/virtual-user/steps/index.ts';
import { fleetProcessCount } from '../../../protocol/base/machine/generator-resources.ts';
import { engineOptions } from '../../helpers/connection.ts';
import { fileTree } from '../../helpers/file-tree.ts';
import { mistakesIn } from '../../helpers/mistakes.ts';

const parse = (config: object) => engineOptions({ target: 'http://127.0.0.1:3000', ...config });
const BACKOFF = { attempts: 10, delayMs: 1000, maxDelayMs: 5000, jitter: 0.5 };

it('every engine option has a default', () => {
  const { timeoutMs, client, retry, reconnection, connection, baseNamespace } = parse({});
  assert.deepEqual([timeoutMs, client, retry, reconnection], [10_000, 'light', undefined, undefined]);
  assert.deepEqual([connection.transports, connection.compression, baseNamespace], [['websocket'], false, '']);
});

it('reads the option keys of older scripts, but the engine’s own options take precedence', () => {
  const config = parse({
    timeout: 3,
    tls: { rejectUnauthorized: false },
    socketio: { path: '/a/', query: { a: 1 }, timeout: 4 },
    engines: { 'socketio-capacity': { timeout: '500ms', reconnection: true, extraHeaders: { x: 1 }, path: '/b/' } },
  });
  const { path, query, headers, tls } = config.connection;
  assert.deepEqual([config.timeoutMs, path, query, headers], [500, '/b/', { a: '1' }, { x: '1' }]);
  assert.deepEqual([tls, config.reconnection], [{ rejectUnauthorized: false }, BACKOFF]);
  assert.equal(parse({ timeout: 3 }).timeoutMs, 3000);
});

it('splits namespace and query from the target, and adds slashes to the path', () => {
  const options = (target: string, query: unknown = {}, path?: string) => {
    const engines = { 'socketio-capacity': { query, ...(path && { path }) } };
    const { connection, baseNamespace } = parse({ target, engines });
    return [connection.url, connection.query, connection.path, baseNamespace];
  };
  const [target, url] = ['https://example.com/admin?user=1&key=a', 'https://example.com'];
  assert.deepEqual(options(target, 'key=b&c=%20d'), [url, { user: '1', key: 'b', c: ' d' }, '/socket.io/', '/admin']);
  assert.deepEqual(options(target, { n: 2 }, 'rooms'), [url, { user: '1', key: 'a', n: '2' }, '/rooms/', '/admin']);
  assert.deepEqual(options('wss://h:1/tenant/', {}, '/'), ['wss://h:1', {}, '/', '/tenant']);
});

it('sends the user info of the target as basic authorization, unless a header overrides it', () => {
  const optionsOf = (headers: object) =>
    parse({ target: 'http://ann:p%40ss@127.0.0.1:3000', engines: { 'socketio-capacity': { headers } } }).connection;
  const { url, headers } = optionsOf({});
  assert.deepEqual([url, headers], ['http://127.0.0.1:3000', { Authorization: `Basic ${btoa('ann:p@ss')}` }]);
  assert.deepEqual(optionsOf({ authorization: 'Bearer t' }).headers, { authorization: 'Bearer t' });
});

it('refuses an engine option whose template in `config` had no value', () => {
  for (const option of [
    { auth: { token: undefined } },
    { auth: { token: 'Bearer undefined' } },
    { query: { a: undefined } },
    { extraHeaders: { a: undefined } },
    { auth: undefined },
    { query: undefined },
    { headers: undefined },
    { localAddresses: [undefined] },
  ]) {
    const message = new RegExp(`${Object.keys(option)}.*template has no value.* \`connect\``);
    assert.throws(() => parse({ engines: { 'socketio-capacity': option } }), message);
  }
});

it('suggests the right place for an engine option that is in the wrong one', () => {
  const messageFor = (step: object) =>
    mistakesIn({ config: { target: 'http://a' }, scenarios: [{ engine: 'socketio-capacity', flow: [step] }] })[0]
      ?.message;
  assert.match(
    messageFor({ emit: ['a'], capture: {} }) ?? '',
    /write it in `response`, `acknowledge` or `waitFor`: capture: /,
  );
  assert.match(messageFor({ emit: ['a'], response: { on: 'b', timeout: 1 } }) ?? '', /write it beside `response`$/);
  assert.match(messageFor({ emit: ['a'], response: { on: 'b', concta: true } }) ?? '', /did you mean "concat"/);
  assert.equal(messageFor({ emit: ['a'], acknowledge: 'yes' }), 'expected boolean or object');
});

describe('files in options', () => {
  const PEM = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
  const besideFiles = (t: TestContext) => join(fileTree(t, { 'ca.pem': PEM, 'notes.txt': 'nothing' }), 'scenario.yml');
  const configOf = (tls: object, options: object) => {
    return { target: 'https://127.0.0.1:1', tls, engines: { 'socketio-capacity': options } };
  };

  it('reads certificates in options from the folder of the scenario, and keeps PEM text', (t) => {
    const config = configOf({ ca: './ca.pem', rejectUnauthorized: false }, { tls: { key: PEM }, parser: 'msgpack' });
    const { tls, parser } = engineOptions(config, besideFiles(t)).connection;
    assert.deepEqual(tls, { ca: PEM, rejectUnauthorized: false, key: PEM });
    assert.match(String(parser), /socket\.io-msgpack-parser/);
  });

  it('reports the path of a certificate that cannot be read, or of a parser that is not installed', (t) => {
    const config = configOf({ ca: 'none.pem' }, { tls: { cert: 'notes.txt' }, parser: 'no-such-parser' });
    const script = { _scriptPath: besideFiles(t), config, scenarios: [{ engine: 'socketio-capacity', flow: [] }] };
    const places = mistakesIn(script).map(({ path }) => path.replace('engines.socketio-capacity.', ''));
    assert.deepEqual(places, ['config.tls.ca', 'config.tls.cert', 'config.parser']);
  });
});

describe('the share of an Artillery worker', () => {
  const ramp = { duration: 10, arrivalRate: 500, rampTo: 500 };
  const soak = { duration: '1h', arrivalRate: 100 };
  const hold = [{ connect: true }, { hold: true }];

  it('estimates how many connections an Artillery worker holds at the same time', () => {
    for (const [flow, phases, min, max] of [
      [hold, [{ duration: 10, arrivalCount: 700 }, { pause: 60 }], 700, 700],
      // A fraction of a rate is rounded up.
      [hold, [{ ...ramp, worker: 1, totalWorkers: 2 }, { pause: 60 }], 5000, 5010],
      [hold, [{ ...ramp, maxVusers: 40 }], 40, 40],
      // Only concurrent connections count, unless the length of the flow is unknown.
      [[{ think: 5 }], [soak], 1500, 2000],
      [[{ think: '{{ t }}' }], [soak], 360_000, 360_000],
      [[{ loop: [{ think: 1 }] }], [soak], 360_000, 360_000],
    ] as const) {
      const scenarios = [{ engine: 'socketio-capacity', flow: [...flow] }];
      const { flows } = readScenarios({ config: {}, scenarios }, STEP_KINDS);
      const expected = connectionsOfShare([...phases], flows);
      assert.ok(expected >= min && expected <= max, `${JSON.stringify([flow, phases])}: ${expected}`);
    }
  });

  it('an Artillery worker gets enough source addresses for a loopback target', () => {
    const [local, remote] = ['http://127.0.0.1:8080', 'http://example.com'];
    assert.deepEqual(sourceAddresses(local, [], 10_000), []);
    assert.deepEqual(sourceAddresses('ws://localhost:8080', [], 20_000), ['127.0.0.2', '127.0.0.3']);
    assert.equal(sourceAddresses(local, [], 100_000).length, 10);
    assert.deepEqual(sourceAddresses(remote, [], 100_000), []);
    assert.deepEqual(sourceAddresses(remote, ['10.0.0.1'], 5), ['10.0.0.1']);
  });

  it('an Artillery worker gets as many fleet processes as the limit of open files requires', () => {
    for (const [connections, files, client, processes] of [
      [0, 1024, 'light', 1],
      [19_000, 20_000, 'light', 1],
      [100_000, 20_000, 'light', 6],
      [100_000, Number.POSITIVE_INFINITY, 'light', 1],
      [100_000, 1_048_576, 'official', 2],
      [100_000, 1024, 'official', 64],
    ] as const) {
      assert.equal(fleetProcessCount(connections, files, client), processes, `${connections} ${files} ${client}`);
    }
  });
});
