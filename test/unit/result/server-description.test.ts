import assert from 'node:assert/strict';
import { it } from 'node:test';
import { serverDescription } from '../../../plugin/result/server-description.ts';
import type { ServerDescription } from '../../../protocol/result/server.ts';

const TUNED: ServerDescription = {
  kind: 'tuned',
  tunings: { dropRequest: 'on' },
  options: { pingInterval: '25000' },
};

it('workers that are alike are one server', () => {
  assert.deepEqual(serverDescription([{ server: TUNED }, { server: TUNED }]), TUNED);
});

it('workers that differ are nobody else’s server, with the values of each', () => {
  const other: ServerDescription = { kind: 'own', tunings: {}, options: { pingInterval: '10000' } };
  assert.deepEqual(serverDescription([{ server: TUNED }, { server: other }]), {
    kind: 'own',
    tunings: { dropRequest: 'on or not set' },
    options: { pingInterval: '25000 or 10000' },
  });
});

it('no worker, or one that does not describe itself as it should, leaves the server unknown', () => {
  const wrong = { kind: 'fast' } as unknown as ServerDescription;
  for (const workers of [[], [{ server: TUNED }, { server: wrong }]]) {
    assert.equal(serverDescription(workers), null);
  }
});
