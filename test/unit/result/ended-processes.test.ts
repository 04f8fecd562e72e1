import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Measurements } from '../../../plugin/run/measurements/measurements.ts';
import type { EndedProcess } from '../../../plugin/samplers/index.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { assertNames, othersAccepted, verdictOf } from '../../helpers/verdict.ts';

const APP: EndedProcess = {
  pid: 7,
  layer: 'worker',
  command: 'node app.mjs',
  atUs: 5_200_000,
  openFiles: 84,
  limit: 1024,
};

const RANGE = { low: 0, high: 0 };
const END: Omit<Result['connections']['ends'][number], 'reason' | 'cause' | 'count'> = {
  ...{ closeText: '', event: '', eventText: '', maxPayloadBytes: null, pingIntervalMs: null, pingTimeoutMs: null },
  ...{ ageSeconds: RANGE, sent: RANGE, received: RANGE, largestSentBytes: RANGE },
};

/** @param failures failures and losses by cause */
function judged(
  ended: EndedProcess[],
  lost: Record<string, number>,
  failures: Record<string, number> = {},
  ends: Result['connections']['ends'] = [],
) {
  return verdictOf((result: Result, measured: Measurements) => {
    measured.samplesBeganAtUs = 1_000_000;
    measured.endedProcesses = () => ended;
    Object.assign(result.connections, { lost, failures, ends, peak: 59 });
    measured.aborted = { how: 'left', code: 'RUN_INCOMPLETE', message: 'the virtual users left' };
    othersAccepted(measured);
  });
}

describe('a stalled process', () => {
  const halted = (untilUs: number | undefined) =>
    verdictOf((result, measured) => {
      const { pid, layer, command } = APP;
      measured.samplesBeganAtUs = 0;
      measured.haltedProcesses = () => [{ pid, layer, command, state: 'T', sinceUs: 91_000_000, untilUs }];
      const batch = result.delivery?.batches[8];
      Object.assign(batch ?? {}, { received: 0, lostConnected: batch?.expected });
      Object.assign(result.delivery ?? {}, { frames: 55_000, received: 55_000, lostConnected: 5000 });
    });

  it('a stalled process explains copies that were sent during the stall', () => {
    const { findings, codes, outcome } = halted(undefined);
    assert.deepEqual([codes, outcome.status], [['PROCESS_HALTED'], 'FAILED']);
    assert.equal(
      findings[0]?.message,
      'process 7 (node app.mjs) was stopped by a signal (state T) at 91.0 s, and did not go on',
    );
    assertNames(findings[0]?.fix, ['SIGSTOP']);
  });

  it('a stalled process does not explain copies that were sent after it resumed', () => {
    const { codes } = halted(91_600_000);
    assert.ok(codes.includes('COPIES_LOST') && codes.includes('PROCESS_HALTED'), codes.join());
  });
});

describe('a process of the server that ended', () => {
  it('an ended process explains lost and refused connections and an early end of the run if the counts add up', () => {
    const lost = { 'transport close': 59 };
    const { findings, status } = judged([APP], lost, { ECONNREFUSED: 3 });
    assert.deepEqual(
      findings.map(({ code, subject }) => [code, subject]),
      [['PROCESS_ENDED', 'process 7']],
    );
    assert.equal(findings[0]?.message, 'process 7 (node app.mjs) ended at 4.2 s with 59 connections');
    assert.equal(status, 'SUSPECT', 'not INVALID');
  });

  it('reports a graceful shutdown of an ended process if it sent close frames to its clients', () => {
    const ends = [{ ...END, reason: 'transport close', cause: 'closed_1005', count: 30 }];
    const [found] = judged([APP], { 'transport close': 30 }, {}, ends).findings;
    assertNames(found?.message, ['shut down in order']);
    assert.doesNotMatch(found?.fix ?? '', /uncaught/);
    const crashed = [...ends, { ...END, reason: 'transport close', cause: 'closed_1006', count: 1 }];
    assert.doesNotMatch(judged([APP], { 'transport close': 31 }, {}, crashed).findings[0]?.message ?? '', /in order/);
  });

  it('reports an ended process with the limit of its heap', () => {
    const limited = { ...APP, command: 'node --max-old-space-size=60 app.mjs' };
    const [found] = judged([limited], { 'transport close': 18 }).findings;
    assertNames(found?.message, ['60 MB']);
    assert.match(found?.fix ?? '', /max-old-space-size/);
  });

  const beforeLoad = (changes: object) =>
    verdictOf((_, measured) => {
      measured.samplesBeganAtUs = 6_000_000;
      measured.endedProcesses = () => [{ ...APP, ...changes }];
      measured.observations.note('warmUpFailed', { error: 'ECONNRESET', connections: 50 });
    });

  it('reports an ended process with its limit of open files if connections can have filled it before the load', () => {
    const [few] = beforeLoad({ openFiles: 22, limit: 120 }).findings;
    assertNames(few?.message, ['it may have 120 files open, and had 22 just before']);
    assert.match(few?.fix ?? '', /EMFILE/);
    const [many] = beforeLoad({ openFiles: 22, limit: 20_000 }).findings;
    assert.doesNotMatch(`${many?.message} ${many?.fix}`, /files/);
  });

  it('reports an ended process with the connections that the run had opened before the load', () => {
    const { findings } = beforeLoad({});
    assert.equal(findings[0]?.window, undefined, 'no stage of the load');
    assertNames(findings[0]?.message, ['ended before the load, when the run had opened up to 50 short connections']);
  });

  it('an ended process does not explain connections that the server closed itself', () => {
    const { findings, status } = judged([APP], { 'io server disconnect': 59 });
    assert.ok(findings.some(({ code }) => code === 'CONNECTIONS_DROPPED'));
    assert.equal(status, 'INVALID');
  });

  it('reports an ended process with its replacements, and with its open files if it was near the limit', () => {
    const replacement = { ...APP, pid: 9, atUs: 9_000_000, openFiles: 118, limit: 120 };
    const [found] = judged([APP, replacement], { 'transport close': 100 }).findings;
    assertNames(found?.message, ['process 7', 'at 4.2 s, then process 9 at 8.0 s with 100 connections in all']);
    assertNames(found?.message, ['process 9 had 118 of 120 open files']);
    assert.match(found?.fix ?? '', /ulimit -n/);
  });

  it('reports an ended process with files other than connections if connections cannot account for all', () => {
    const full = { ...APP, openFiles: 178, limit: 200 };
    const [found] = verdictOf((result, measured) => {
      result.connections.peak = 0;
      measured.samplesBeganAtUs = 6_000_000;
      measured.endedProcesses = () => [full];
      measured.observations.note('warmUpFailed', { error: 'ECONNRESET', connections: 45 });
    }).findings;
    assertNames(found?.message, ['178 of 200 open files, at least 133 of which were no connections']);
    assert.match(found?.fix ?? '', /does not close/);
    assert.deepEqual(
      found?.values?.map(({ name, value }) => [name, value]),
      [
        ['short connections before the load', 45],
        ['open files', 178],
        ['limit of open files', 200],
        ['open files beside connections', 133],
      ],
    );
  });
});
