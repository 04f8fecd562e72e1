/** At a plateau: whether the ids of an own event are those of broadcasts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkPath } from '../../../plugin/run/own-event/window.ts';
import type { Delivery } from '../../../plugin/script/settings.ts';
import { monotonicUs } from '../../../protocol/clock/clock.ts';
import { FakeRun } from '../../helpers/fake-run.ts';

const OPTION = { event: 'price', id: '$.0.id' };

/** @param copies of each id that arrived two seconds ago */
function atPlateau(copies: number[], { connections = 20, option = OPTION, agoUs = 2e6 } = {}) {
  const run = new FakeRun({ delivery: option });
  run.arrive(connections);
  const nowUs = monotonicUs();
  Object.assign(run.measurements, { expectedAtOnce: connections });
  run.measurements.ramps.push({ beganAtUs: nowUs - 9e6, endedAtUs: nowUs - 5e6, seconds: 4, connections });
  const common = { firstAtUs: nowUs - agoUs, sentAt: undefined, bytes: 9, reached: 0, counted: false };
  const ids = copies.map((count, index) => ({ id: `17-${index}`, ...common, copies: count }));
  run.context.link.sight = async () => [{ ids, filled: 0, unmatched: 0, example: undefined }];
  return checkPath(run.context, run.context.config.delivery as Delivery);
}

test('ids that came to one connection each are refused, with some of them', async () => {
  await assert.rejects(atPlateau([1, 1, 1, 1, 1]), {
    code: 'DELIVERY_UNMATCHED',
    message: /each of 5 ids at \$\.0\.id of `price` came to one of 20 connections only: "17-0", "17-1", "17-2", …/,
  });
});

test('they are not while it can be otherwise', async () => {
  await atPlateau([1, 1, 1, 1, 20]);
  await atPlateau([1, 1, 1, 1]);
  await atPlateau([1, 1, 1, 1, 1], { connections: 1 });
  await atPlateau([1, 1, 1, 1, 1], { agoUs: 0.5e6 });
  await atPlateau([1, 1, 1, 1, 1], { agoUs: 6e6 });
  const publish = { emit: ['say', {}], every: 1, count: 1 };
  await atPlateau([1, 1, 1, 1, 1], { option: { ...OPTION, publish } as typeof OPTION });
});
