/** The line that names the machines of a run. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Result } from '../../../protocol/result/result.ts';
import { machineLine } from '../../../report/answer/machine-line.ts';
import { renderHtml } from '../../../report/render/html.ts';
import { documentOf, finding } from '../../helpers/findings.ts';
import { generatorHost, perfectResult } from '../../helpers/results.ts';

const GIB = 2 ** 30;
const GENERATOR = { cpu: 'AMD EPYC', cpuCount: 2, memoryBytes: 23.5 * GIB, kernel: 'Linux 6.18' };
const AMD = 'AMD EPYC, 2 cores, 23.5 GiB, Linux 6.18';
const NO_WINDOWS = { ramp: null, messages: null, broadcasts: null };
const REMOTE = { profile: 'remote' as const, target: 'http://10.0.0.5' };

interface Case {
  run?: Partial<Result['run']>;
  limits?: Record<string, number>;
  machines?: Partial<Result['workerMachines'][number]>[];
  workers?: Partial<Result['workers'][number]>[];
  generators?: Result['generators'];
}

function resultOf({ run = {}, limits = {}, machines = [], workers = [], generators = [] }: Case): Result {
  const result = perfectResult();
  const machine = { hostname: 'app-1', isGenerators: false, cores: 8, memoryBytes: 16 * GIB, usedBytes: null };
  const worker = { worker: 'w0', machine: 0, usableCores: 8, openFiles: null, openFilesLimit: null, container: null };
  return {
    ...result,
    run: { ...result.run, ...run },
    environment: { ...result.environment, ...GENERATOR, limits },
    workerMachines: machines.map((one) => ({
      ...machine,
      cpuIdlePercent: NO_WINDOWS,
      stealPercent: NO_WINDOWS,
      ...one,
    })),
    workers: workers.map((one) => ({ ...worker, memoryLimitBytes: null, throttled: null, ...one })),
    generators,
  };
}

const line = (given: Case) => machineLine(resultOf(given));

describe('the machine line', () => {
  it('is one machine where generator and server share it', () => {
    assert.equal(line({}), AMD);
    assert.equal(
      line({ machines: [{ isGenerators: true, cores: 2, memoryBytes: 23.5 * GIB }], workers: [{ usableCores: 2 }] }),
      AMD,
    );
  });

  it('has the limits of a container beside what the machine has', () => {
    const limits = { cpuQuotaCores: 1.5, containerMemoryBytes: GIB / 2 };
    assert.equal(line({ limits }), 'AMD EPYC, 1.50 of 2 cores usable, 0.50 of 23.5 GiB usable, Linux 6.18');
    assert.equal(line({ limits: { cpusAllowed: 1 } }), 'AMD EPYC, 1 of 2 cores usable, 23.5 GiB, Linux 6.18');
  });

  it('names the server apart if it has another machine, or other limits on the same one', () => {
    const machines = [
      { model: 'Xeon', system: 'Linux 5.15' },
      { hostname: 'app-2', model: 'Xeon', system: 'Linux 5.15' },
    ];
    assert.equal(
      line({ run: REMOTE, machines }),
      `generator: ${AMD}; server: app-1, app-2 (Xeon, 8 cores, 16.0 GiB, Linux 5.15)`,
    );
    assert.equal(
      line({
        machines: [{ isGenerators: true, cores: 2, memoryBytes: 23.5 * GIB }],
        workers: [{ usableCores: 0.5, memoryLimitBytes: GIB }],
      }),
      `generator: ${AMD}; server: app-1, the generator’s machine (0.50 of 2 cores usable by each worker, 1.0 of 23.5 GiB usable by each worker)`,
    );
    assert.match(line({ run: REMOTE }), /^generator: AMD .*; server: unknown, because its workers do not report it$/);
  });

  it('names each kind of generator host once, and the conductor', () => {
    const generators = ['load-1', 'load-2', 'load-3'].map((host) => generatorHost(host));
    generators[2] = { ...generatorHost('load-3'), cores: 1, memoryLimitBytes: GIB };
    assert.equal(
      line({ generators, run: REMOTE, machines: [{}] }),
      'generators: load-1, load-2 (AMD EPYC, 4 cores, 16.0 GiB, Linux 6.18), load-3 (AMD EPYC, 1 of 4 cores usable, 1.0 of 16.0 GiB usable, Linux 6.18); ' +
        `conductor: ${AMD}; server: app-1 (8 cores, 16.0 GiB)`,
    );
  });

  it('is in the head of report.html, also of an INVALID run', () => {
    for (const findings of [[], [finding('RUN_INCOMPLETE')]]) {
      const head = renderHtml(documentOf({ ...resultOf({}), findings })).split('<main>')[0];
      assert.equal(head?.split(AMD).length, 2, head);
    }
  });
});
