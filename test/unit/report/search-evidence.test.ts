/** What explains that a level broke. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FAILURE_CODES } from '../../../protocol/codes/failure-codes.ts';
import { evidenceOf } from '../../../report/search/evidence.ts';
import { summaryOf } from '../../helpers/message-figures.ts';
import { failing, withReasons } from '../../helpers/reasons.ts';
import { perfectResult } from '../../helpers/results.ts';
import { assertNames } from '../../helpers/verdict.ts';

describe('the evidence', () => {
  it('is none in a run in which nothing was near a limit', () => {
    const result = perfectResult();
    result.latency.completionMs = summaryOf(12, 555);
    assert.deepEqual(evidenceOf(result), []);
  });

  it('names what ended, and what refused', () => {
    const result = withReasons(['DEPLOYMENT_CHANGED', 'CONNECTIONS_FAILED'], failing('http_502'));
    result.connections.lost = { 'transport close': 40, 'ping timeout': 2 };
    result.latency.completionMs = null;
    const [changed, refused, ended] = evidenceOf(result);
    assert.equal(changed, 'about DEPLOYMENT_CHANGED');
    assertNames(refused, ['7 connections', 'http_502', FAILURE_CODES.http_502?.meaning ?? '']);
    assertNames(ended, ['40 connections', 'transport close']);
  });

  it('names the limit of open files of a process before what it causes', () => {
    const result = withReasons(['CONNECTIONS_FAILED'], failing('ECONNRESET'));
    result.latency.completionMs = null;
    Object.assign(result.environment.limits, { serverOpenFiles: 299, serverOpenFilesLimit: 300 });
    const [limit, refused] = evidenceOf(result);
    assertNames(limit, ['299', '300 files']);
    assertNames(refused, ['ECONNRESET']);
    Object.assign(result.environment.limits, { serverOpenFiles: 200 });
    assert.equal(evidenceOf(result).length, 1);
  });

  it('names workers whose cores were full while the load came, not while garbage was collected', () => {
    const result = perfectResult();
    result.latency.completionMs = null;
    result.stages = [
      { name: 'baseline', t: 0 },
      { name: 'ramp', t: 10 },
      { name: 'plateau', t: 14 },
      { name: 'broadcasts', t: 20 },
      { name: 'drain', t: 24 },
    ];
    const sample = (t: number, cpuPercent: number) => ({ t, connections: 5000, worker: { cpuPercent } });
    const idle = [11, 12, 13, 14].map((t) => sample(t, 60));
    const collecting = [15, 16, 17].map((t) => sample(t, 200));
    result.samples = [...idle, ...collecting, ...[21, 22, 23, 24].map((t) => sample(t, 196))];
    assert.deepEqual(evidenceOf(result), [
      'worker CPU was at 98 % of a core in each of 2 workers (stage `broadcasts`)',
    ]);
    result.samples = [...idle, ...collecting];
    assert.deepEqual(evidenceOf(result), []);
  });

  it('names the CPU that one broadcast takes, the memory, the files and the output of Redis', () => {
    const result = perfectResult();
    result.latency.completionMs = summaryOf(12, 40);
    const { memoryBytes } = result.environment;
    result.memory.peakBytes.systemUsed = memoryBytes * 0.97;
    result.environment.limits.openFilesHard = 2510;
    result.samples = [{ t: 1, connections: 0, redisServer: { outputBufferBytes: 12 * 2 ** 20 } }];
    assert.deepEqual(evidenceOf(result), [
      'a worker held 2,500 connections, and may open 2,510 files',
      'a broadcast keeps each of 2 workers busy for 29 of the 40 ms until it has reached everybody',
      '7,946.2 of 8,192.0 MB of the machine’s memory were in use',
      '12.0 MB of Redis’s output waited for the workers',
    ]);
  });
});
