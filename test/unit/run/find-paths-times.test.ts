/** Messages that are told apart by their times alone: a game sends each player a view of its own in the same millisecond. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { findPaths } from '../../../plugin/run/own-event/find-paths.ts';
import { monotonicUs } from '../../../protocol/clock/clock.ts';

/** Two connections' messages of the same times. @param view of a player, at a tick */
function heardOf(view: (player: string, tick: number) => object) {
  const [epochMs, startUs] = [Date.now(), monotonicUs()];
  const of = (player: string) =>
    [1, 2, 3, 4].map((tick) => ({
      event: 'update',
      args: [{ t: epochMs + tick * 33, ...view(player, tick) }],
      receivedAtUs: startUs + tick * 33_000 + 500,
    }));
  return [of('ann'), of('bob')] as const;
}

it('are no broadcasts if each connection gets something else', () => {
  assert.equal(findPaths(heardOf((me, tick) => ({ me, x: tick * 7.5 }))), undefined);
});

it('are broadcasts if all get the same', () => {
  assert.deepEqual(findPaths(heardOf((_, tick) => ({ players: [{ x: tick * 7.5 }] })))?.id, ['0', 't']);
});

it('are broadcasts with a number of the tick, whatever each gets with it', () => {
  assert.deepEqual(findPaths(heardOf((me, tick) => ({ me, tick })))?.id, ['0', 'tick']);
});
