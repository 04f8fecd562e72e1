import assert from 'node:assert/strict';
import { it } from 'node:test';
import { GENERATORS } from '../../../bench/client/generators.ts';
import { measureClients } from '../../../bench/client/measure-clients.ts';
import { toolVersion } from '../../../bench/client/measured-generator.ts';
import type { BenchWorker } from '../../../bench/worker.ts';
import { assertEach } from '../../helpers/columns.ts';

it('refuses a missing load generator with its install command, before anything starts', async () => {
  const start = () => assert.fail('it was started');
  const tool = { command: 'no-such-program', version: ['--version'], install: 'pip install it' };
  const load = { url: 'http://127.0.0.1:1', connections: 1000, ratePerSec: 100 };
  const generator = { name: 'it', label: 'it', tool, start };
  const { signal } = new AbortController();
  const measured = measureClients(generator, {} as BenchWorker, load, { count: 1, bytes: 100 }, '.', signal);
  await assert.rejects(measured, { message: 'not installed: `pip install it`' });
  const outside = GENERATORS.filter(({ name }) => ['floor', 'k6', 'locust'].includes(name));
  assertEach(outside, ({ tool: own }) => own?.install.split(' ')[0], ['apt-get', 'go', 'pip']);
});

it('finds the version in the output of a program', () => {
  const version = ['-p', '"k6 v1.8.1 (go1.26, linux)"'];
  assert.equal(toolVersion({ command: process.execPath, version, install: '' }), '1.8.1');
});
