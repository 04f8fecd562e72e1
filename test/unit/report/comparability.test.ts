import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Result } from '../../../protocol/result/result.ts';
import { compareSets } from '../../../report/compare/compare.ts';
import { assertEach, column, columns } from '../../helpers/columns.ts';
import { generatorHost } from '../../helpers/results.ts';
import { run, setOf } from '../../helpers/run-sets.ts';

describe('the differences in conditions', () => {
  const differing = (change: (result: Result) => unknown, before = run()) =>
    compareSets([setOf(before), setOf(run(change))]).mismatches;

  it('two equal runs have no differences in conditions', () => {
    const found = differing(({ run: it, environment }) => {
      it.id = 'another';
      environment.configHash = '01';
      environment.settings.results = 'elsewhere';
      environment.limits.serverOpenFiles = 48;
      environment.settings.workerSources = { pids: [4711] };
    });
    assert.deepEqual(found, []);
  });

  it('lists differences in conditions separately from differences that may be the change under test', () => {
    const found = differing(({ connections, environment, run: it }) => {
      connections.target = 10_000;
      environment.cpu = 'another processor';
      environment.kernel = 'Linux 6.2';
      environment.settings.broadcasts = { count: 20 };
      environment.settings.workers = 4;
      it.target = 'http://127.0.0.1:9090';
    });
    assert.deepEqual(found, [
      { aspect: 'load', name: 'connections', values: ['5000', '10000'] },
      { aspect: 'deployment', name: 'target', values: ['http://127.0.0.1:8080', 'http://127.0.0.1:9090'] },
      { aspect: 'machine', name: 'cpu', values: ['a processor', 'another processor'] },
      { aspect: 'system', name: 'kernel', values: ['Linux 6.1', 'Linux 6.2'] },
      { aspect: 'load', name: 'broadcasts.count', values: ['not set', '20'] },
      { aspect: 'deployment', name: 'workers', values: ['not set', '4'] },
    ]);
  });

  it('differences in conditions include each condition of the load, the machine and the system', () => {
    const found = differing(({ run: it, connections, latency, memory, environment, generators }) => {
      Object.assign(it, { scenario: 'other', engine: 'other', profile: 'remote' });
      Object.assign(connections, { transports: null, compression: null });
      latency.from = 'publisher';
      memory.collected = !memory.collected;
      Object.assign(environment, { cpuCount: 64, memoryBytes: 4 * 1024 ** 3 });
      environment.limits.cpuQuotaCores = 3;
      generators.push(generatorHost('a', { share: 0.25 }), generatorHost('b', { share: 0.75 }));
    });
    assertEach(found, ({ aspect, name, values }) => [aspect, name, values[1]], [
      ['load', 'engine', 'other'],
      ['load', 'shares of the generator hosts', '2 hosts: 75.0, 25.0 %'],
      ['load', 'latency counts from', 'publisher'],
      ['load', 'transports', 'unknown'],
      ['load', 'compression', 'unknown'],
      ['load', 'garbage collected before memory is read', 'false'],
      ['deployment', 'scenario', 'other'],
      ['deployment', 'profile', 'remote'],
      ['machine', 'cores', '64'],
      ['machine', 'memory', '4 GiB'],
      ['system', 'cpuQuotaCores', '3'],
    ]);
  });

  it('conditions include compression only if it was granted, and the transport of all connections', () => {
    const of = (asked: boolean, granted: number, configured = 'websocket') =>
      run(({ connections }) => {
        connections.compression = { asked, granted, byServer: false };
        Object.assign(connections.transports ?? {}, { configured });
      });
    const found = (a: Result, b: Result) => compareSets([setOf(a), setOf(b)]).mismatches;
    assert.deepEqual(found(of(true, 0), of(false, 0)), []);
    assert.deepEqual(found(of(true, 5), of(true, 0)), [{ aspect: 'load', name: 'compression', values: ['on', 'off'] }]);
    assert.deepEqual(found(of(true, 5), of(true, 5, 'polling')), [
      { aspect: 'load', name: 'transports', values: ['websocket', 'polling'] },
    ]);
  });

  it('conditions include the shares of several hosts, but not which host has which share', () => {
    const withHosts = (...shares: number[]) =>
      run(({ generators }) =>
        generators.push(...shares.map((share, index) => generatorHost(`load-${index}`, { share }))),
      );
    const differences = (a: Result, b: Result) => column(compareSets([setOf(a), setOf(b)]).mismatches, 'name');
    assert.deepEqual(differences(run(), withHosts(1)), []);
    assert.deepEqual(differences(withHosts(0.6, 0.4), withHosts(0.4, 0.6)), []);
    for (const before of [run(), withHosts(0.6, 0.4)])
      assert.deepEqual(differences(before, withHosts(0.5, 0.5)), ['shares of the generator hosts']);
  });

  it('differences in conditions exclude a set of runs without results', () => {
    assert.deepEqual(compareSets([setOf(run()), setOf(), setOf(run())]).mismatches, []);
  });

  it('conditions list servers by name, tuning and option, or in one line if one is unknown', () => {
    const found = differing(({ environment: { server } }) => {
      if (!server) return;
      Object.assign(server, { kind: 'untuned', tunings: { ...server.tunings, dropRequest: 'off' } });
      server.options = { ...server.options, nodeFlags: '--max-semi-space-size=1' };
    });
    assert.deepEqual(columns(found, 'aspect', 'name'), {
      aspect: ['deployment', 'deployment', 'deployment'],
      name: ['server', "server's tuning dropRequest", "server's nodeFlags"],
    });
    const unknown = differing(
      () => {},
      run(({ environment }) => (environment.server = null)),
    );
    assert.deepEqual(column(unknown, 'name'), ['server']);
  });
});
