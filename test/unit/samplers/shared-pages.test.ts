import assert from 'node:assert/strict';
import { it } from 'node:test';
import { SharedPages } from '../../../plugin/samplers/processes/memory.ts';

const reading = (rssBytes: number, pssBytes?: number) => ({
  rssBytes,
  ...(pssBytes !== undefined && { pssBytes }),
  cpuUs: 0,
  startedAtUs: 0,
});

it('PSS is RSS less what the processes shared when it was last read', () => {
  const shared = new SharedPages();
  assert.equal(shared.derive('worker', [1, 2], { rssBytes: 500 }), undefined);
  const processes = new Map([
    [1, reading(200, 150)],
    [2, reading(200, 170)],
  ]);
  shared.note({ worker: [1, 2] }, processes);
  assert.equal(shared.derive('worker', [1, 2], { rssBytes: 1000 }), 920);
  assert.equal(shared.derive('worker', [1, 2], { rssBytes: 50 }), 0);
  assert.equal(shared.derive('nginx', [1, 2], { rssBytes: 1000 }), undefined);
});

it('nothing is derived for other processes than those that were read, nor from a part of them', () => {
  const shared = new SharedPages();
  shared.note({ worker: [1] }, new Map([[1, reading(200, 150)]]));
  assert.equal(shared.derive('worker', [2], { rssBytes: 1000 }), undefined);
  shared.note({ worker: [1] }, new Map([[1, reading(300)]]));
  shared.note({ worker: [1] }, new Map());
  assert.equal(shared.derive('worker', [1], { rssBytes: 1000 }), 950, 'the reading before stands');
});
