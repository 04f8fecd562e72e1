import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  changesBetween,
  restartEvidence,
  type WorkerIdentity,
} from '../../../plugin/run/measurements/worker-identity.ts';

interface Changes {
  pid?: number;
  instance?: string;
  readAtMs?: number;
  uptimeSeconds?: number;
  totals?: Partial<NonNullable<WorkerIdentity['life']>['totals']>;
}

function worker(name: string, changes: Changes = {}): WorkerIdentity {
  const { pid = 1, instance = name, readAtMs = 0, uptimeSeconds = 100, totals } = changes;
  const counted = { accepted: 600, broadcasts: 20, collections: 5, cpuUs: 3_000_000, ...totals };
  return { worker: name, pid, instance, life: { readAtMs, uptimeSeconds, connections: 10, totals: counted } };
}

const CASES: [what: string, now: Changes, evidence: RegExp | undefined][] = [
  ['the same process later', { readAtMs: 20_000, uptimeSeconds: 120 }, undefined],
  ['another process id', { pid: 2 }, /process 1 became 2/],
  ['another instance', { instance: 'b' }, /process 1 started again/],
  ['a lower uptime', { uptimeSeconds: 3 }, /uptime fell from 100 s to 3 s/],
  ['an uptime that rounding lowers', { uptimeSeconds: 99.5 }, undefined],
  ['an uptime shorter than the process is known', { readAtMs: 300_000, uptimeSeconds: 150 }, /150 s .* 300 s/],
  ['old statistics repeated', { readAtMs: 300_000 }, undefined],
  ['fewer accepted connections than before', { totals: { accepted: 3 } }, /accepted connections fell from 600 to 3/],
  ['fewer broadcasts than before', { totals: { broadcasts: 0 } }, /broadcasts fell/],
  ['fewer garbage collections than before', { totals: { collections: 1 } }, /garbage collections fell/],
  ['less CPU time than before', { totals: { cpuUs: 200_000 } }, /CPU fell/],
  ['CPU time that differs by a tick', { totals: { cpuUs: 2_995_000 } }, undefined],
];

describe('signs of a restart:', () => {
  for (const [what, now, evidence] of CASES) {
    it(`a worker that reports ${what} counts as: ${evidence ? 'restarted' : 'not restarted'}`, () => {
      const found = restartEvidence(
        worker('w0'),
        worker('w0', { readAtMs: 1000, ...now, instance: now.instance ?? 'w0' }),
      );
      if (evidence) assert.match(found ?? '', evidence);
      else assert.equal(found, undefined);
    });
  }
});

it('distinguishes a restarted worker from a control URL of another worker', () => {
  const [w0, w1] = [worker('w0'), worker('w1')];
  const { restarted, elsewhere } = changesBetween([w0, w1], [worker('w1'), worker('w1', { uptimeSeconds: 2 })]);
  assert.deepEqual([[...restarted.keys()], elsewhere], [['w1'], ['that of w0 to w1']]);
});
