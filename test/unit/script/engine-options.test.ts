import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { sourceAddresses } from '../../../plugin/engine/addresses.ts';
import { connectionsOfShare } from '../../../plugin/script/load/load.ts';
import { readScenarios } from '../../../plugin/script/scenarios.ts';
import { STEPS } from '../../../plugin/virtual-user/steps/index.ts';
import { fleetProcesses } from '../../../protocol/generator.ts';
import { engineOptions } from '../../helpers/connection.ts';
import { mistakesIn } from '../../helpers/mistakes.ts';

const parse = (config: object) => engineOptions({ target: 'http://127.0.0.1:3000', ...config });

it('has defaults that suit Artillery', () => {
  const { timeoutMs, client, retry, reconnection, connection, baseNamespace } = parse({});
  assert.deepEqual(
    [timeoutMs, client, retry, reconnection, baseNamespace],
    [10_000, 'light', undefined, undefined, ''],
  );
  assert.deepEqual(connection.transports, ['websocket']);
  assert.equal(connection.compression, false);
  assert.equal(connection.url, 'http://127.0.0.1:3000');
});

it('reads the places that older flows use; the engine’s own wins', () => {
  const config = parse({
    timeout: 3,
    tls: { rejectUnauthorized: false },
    socketio: { path: '/a/', query: { a: 1 } },
    'socketio-capacity': { path: '/b/', timeout: 4 },
    engines: { 'socketio-capacity': { timeout: '500ms', reconnection: true, extraHeaders: { x: 1 } } },
  });
  assert.equal(config.timeoutMs, 500);
  assert.equal(config.connection.path, '/b/');
  assert.deepEqual(config.connection.query, { a: '1' });
  assert.deepEqual(config.connection.headers, { x: '1' });
  assert.deepEqual(config.connection.tls, { rejectUnauthorized: false });
  assert.deepEqual(config.reconnection, { attempts: 10, delayMs: 1000, maxDelayMs: 5000, jitter: 0.5 });
  assert.equal(parse({ timeout: 3 }).timeoutMs, 3000);
  assert.equal(parse({ target: 'ws://h:1/tenant/' }).baseNamespace, '/tenant');
  assert.equal(parse({ target: 'wss://h/' }).connection.url, 'wss://h');
});

it('takes the query as a map or text, and adds it to that of the target; gives a path its slashes', () => {
  const options = (query: unknown, path?: string) => {
    const engines = { 'socketio-capacity': { query, ...(path && { path }) } };
    const { connection, baseNamespace } = parse({ target: 'https://example.com/admin?user=1&key=a', engines });
    return [connection.query, connection.path, baseNamespace];
  };
  assert.deepEqual(options('key=b&c=%20d'), [{ user: '1', key: 'b', c: ' d' }, '/socket.io/', '/admin']);
  assert.deepEqual(options({ n: 2 }, 'rooms'), [{ user: '1', key: 'a', n: '2' }, '/rooms/', '/admin']);
  assert.deepEqual(options({}, '/'), [{ user: '1', key: 'a' }, '/', '/admin']);
});

describe('files that options name', () => {
  const PEM = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
  const folder = mkdtempSync(join(tmpdir(), 'files-test-'));
  const _scriptPath = join(folder, 'scenario.yml');
  after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'ca.pem'), PEM);
  writeFileSync(join(folder, 'notes.txt'), 'nothing');
  const configOf = (config: object, options: object) => {
    return { target: 'https://127.0.0.1:1', ...config, engines: { 'socketio-capacity': options } };
  };

  it('are read from the folder of the scenario; PEM text stays as it is', () => {
    const config = configOf({ tls: { ca: './ca.pem', rejectUnauthorized: false } }, { tls: { key: PEM } });
    const { tls } = engineOptions(config, _scriptPath).connection;
    assert.deepEqual(tls, { ca: PEM, rejectUnauthorized: false, key: PEM });
  });

  it('and cannot be read, or parsers that are not installed, are mistakes with their place', () => {
    const config = configOf({ tls: { ca: 'none.pem' } }, { tls: { cert: 'notes.txt' }, parser: 'no-such-parser' });
    const scenarios = [{ engine: 'socketio-capacity', flow: [] }];
    const problems = mistakesIn({ _scriptPath, config, scenarios }).map(({ path, message }) => `${path}: ${message}`);
    assert.match(problems.join('\n'), /config\.tls\.ca: expected PEM text, or a file beside the scenario: ENOENT/);
    assert.match(problems.join('\n'), /socketio-capacity\.tls\.cert: .*notes\.txt is not a PEM file/);
    assert.match(problems.join('\n'), /socketio-capacity\.parser: no parser "no-such-parser": install it beside/);
  });

  it('msgpack is the short name of a package', () => {
    const { connection } = engineOptions(configOf({}, { parser: 'msgpack' }), _scriptPath);
    assert.match(String(connection.parser), /socket\.io-msgpack-parser/);
  });
});

describe('the share of a worker of Artillery', () => {
  const ramp = { duration: 10, arrivalRate: 500, rampTo: 500 };
  const soak = { duration: '1h', arrivalRate: 100 };
  const hold = [{ connect: true }, { hold: true }];
  for (const [what, flow, phases, least, most] of [
    ['all arrivals of a flow that holds', hold, [{ duration: 10, arrivalCount: 700 }, { pause: 60 }], 700, 700],
    ['a fraction of a rate, rounded up', hold, [ramp, { pause: 60 }], 5000, 5010],
    ['no more than maxVusers', hold, [{ ...ramp, maxVusers: 40 }], 40, 40],
    ['only the standing ones of a short flow', [{ think: 5 }], [soak], 1500, 2000],
    ['all of a flow whose length is in a template', [{ think: '{{ t }}' }], [soak], 360_000, 360_000],
    ['all connections of a virtual user', [{ connect: { count: 9 } }, { hold: true }], [soak], 3_240_000, 3_240_000],
    ['all of a flow that goes around for ever', [{ loop: [{ think: 1 }] }], [soak], 360_000, 360_000],
  ] as const) {
    it(`has ${what}`, () => {
      const scenarios = [{ engine: 'socketio-capacity', flow: [...flow] }];
      const { flows } = readScenarios({ config: {}, scenarios }, STEPS);
      const expected = connectionsOfShare([...phases], flows);
      assert.ok(expected >= least && expected <= most, String(expected));
    });
  }

  it('gives loopback targets enough source addresses for their ports', () => {
    assert.deepEqual(sourceAddresses('http://127.0.0.1:8080', [], 10_000), []);
    assert.deepEqual(sourceAddresses('ws://localhost:8080', [], 20_000), ['127.0.0.2', '127.0.0.3']);
    assert.equal(sourceAddresses('http://127.0.0.1:8080', [], 100_000).length, 10);
    assert.deepEqual(sourceAddresses('http://example.com', [], 100_000), []);
    assert.deepEqual(sourceAddresses('http://example.com', ['10.0.0.1'], 5), ['10.0.0.1']);
  });

  it('takes as many processes as the file limit asks for', () => {
    for (const [connections, files, client, processes] of [
      [0, 1024, 'light', 1],
      [19_000, 20_000, 'light', 1],
      [100_000, 20_000, 'light', 6],
      [100_000, Number.POSITIVE_INFINITY, 'light', 1],
      // One heap would not hold them; then, files are the lower limit.
      [100_000, 1_048_576, 'official', 2],
      [100_000, 1024, 'official', 64],
    ] as const) {
      assert.equal(fleetProcesses(connections, files, client), processes, `${connections} ${files} ${client}`);
    }
  });
});
