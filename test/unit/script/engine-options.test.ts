import assert from 'node:assert/strict';
import { it } from 'node:test';
import { sourceAddresses } from '../../../plugin/engine/addresses.ts';
import { expectedConnections } from '../../../plugin/engine/engine.ts';
import { parseEngineOptions } from '../../../plugin/script/options/engine-options.ts';
import { fleetProcesses } from '../../../protocol/generator.ts';

function parse(config: Record<string, unknown>) {
  const parsed = parseEngineOptions({ config: { target: 'http://127.0.0.1:3000', ...config } });
  if ('problems' in parsed) assert.fail(JSON.stringify(parsed.problems));
  return parsed.options;
}

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

it('gives loopback targets enough source addresses for their ports', () => {
  assert.deepEqual(sourceAddresses('http://127.0.0.1:8080', [], 10_000), []);
  assert.deepEqual(sourceAddresses('ws://localhost:8080', [], 20_000), ['127.0.0.2', '127.0.0.3']);
  assert.equal(sourceAddresses('http://127.0.0.1:8080', [], 100_000).length, 10);
  assert.deepEqual(sourceAddresses('http://example.com', [], 100_000), []);
  assert.deepEqual(sourceAddresses('http://example.com', ['10.0.0.1'], 5), ['10.0.0.1']);
});

it('expects all arrivals of a flow that holds, and only the standing ones of a short flow', () => {
  const script = (flow: unknown[], ...phases: object[]) => ({
    config: { phases },
    scenarios: [{ engine: 'socketio-capacity', flow }],
  });
  const hold = [{ connect: true }, { hold: true }];
  assert.equal(expectedConnections(script(hold, { duration: 10, arrivalCount: 700 }, { pause: 60 })), 700);
  const ramp = { duration: 10, arrivalRate: 500, rampTo: 500 };
  const expected = expectedConnections(script(hold, ramp, { pause: 60 }));
  assert.ok(expected >= 5000 && expected <= 5010, String(expected));
  assert.equal(expectedConnections(script(hold, { ...ramp, maxVusers: 40 })), 40);
  const soak = { duration: '1h', arrivalRate: 100 };
  assert.ok(expectedConnections(script([{ think: 5 }], soak)) < 2000);
  assert.equal(expectedConnections(script([{ think: '{{ t }}' }], soak)), 360_000);
  assert.equal(expectedConnections(script([{ loop: [{ think: 1 }] }], soak)), 360_000);
});

it('takes as many processes as the file limit asks for', () => {
  assert.equal(fleetProcesses(0, 1024, 'light'), 1);
  assert.equal(fleetProcesses(19_000, 20_000, 'light'), 1);
  assert.equal(fleetProcesses(100_000, 20_000, 'light'), 6);
  assert.equal(fleetProcesses(100_000, Number.POSITIVE_INFINITY, 'light'), 1);
  assert.equal(fleetProcesses(100_000, 1_048_576, 'official'), 2, 'one heap would not hold them');
  assert.equal(fleetProcesses(100_000, 1024, 'official'), 64, 'files are the lower limit');
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
