/** Which event can be counted, and where its id and time stand. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findPaths, type Message } from '../../../plugin/run/own-event/find-paths.ts';
import { monotonicUs } from '../../../protocol/clock/clock.ts';

/** @param make the arguments of the nth message; gets the Unix time in ms at which it arrives */
function messages(event: string, count: number, make: (index: number, nowMs: number) => unknown[]): Message[] {
  const [epochMs, startUs] = [Date.now(), monotonicUs()];
  return Array.from({ length: count }, (_, index) => ({
    event,
    args: make(index, epochMs + index * 1000),
    receivedAtUs: startUs + index * 1e6 + 5000,
  }));
}

const TOKENS = ['f3a9c1d2e4', 'b71e09aa55', '0c5d8871fe'];
/** Broadcasts: both connections get the same. */
const pathsOf = (heard: Message[], published?: Set<string>) => findPaths([heard, heard], published);

describe('an id', () => {
  it('is what two connections get alike and no two messages share', () => {
    const heard = messages('news', 3, (index) => [
      { room: 'a', kind: 7, text: `no ${index}`, meta: { id: 40 + 3 * index } },
    ]);
    assert.deepEqual(pathsOf(heard)?.id, ['0', 'meta', 'id']);
  });

  it('can be a counter or a token under any name', () => {
    assert.deepEqual(pathsOf(messages('tick', 3, (index) => [index]))?.id, ['0']);
    assert.deepEqual(pathsOf(messages('tick', 3, (index) => ['x', { n: TOKENS[index] }]))?.id, ['1', 'n']);
  });

  it('named as one wins over a user’s, a counter and a time', () => {
    const heard = messages('said', 3, (index, at) => [{ at, userId: index * 2, n: index, id: TOKENS[index] }]);
    assert.deepEqual(pathsOf(heard)?.id, ['0', 'id']);
  });

  it('is the time only where there is nothing else', () => {
    const found = pathsOf(messages('price', 3, (index, at) => [{ price: 100 + index * 5, at }]));
    assert.deepEqual(
      [found?.id, found?.sentAt],
      [
        ['0', 'at'],
        ['0', 'at'],
      ],
    );
  });

  it('is not found in texts, in what repeats, in one message, or in what each connection gets for itself', () => {
    assert.equal(pathsOf(messages('said', 3, (index) => [{ text: `hello number ${index}` }])), undefined);
    assert.equal(pathsOf(messages('said', 3, (index) => [{ id: index % 2 }])), undefined);
    assert.equal(pathsOf(messages('said', 1, () => [{ id: 'only-one-1' }])), undefined);
    const own = (name: string) => messages('hello', 3, (index) => [{ id: `${name}-${index}` }]);
    assert.equal(findPaths([own('a'), own('b')]), undefined);
    assert.equal(pathsOf([]), undefined);
  });

  it('of several in one event is each of them', () => {
    const batch = (index: number) => [
      { items: [0, 1].slice(index % 2).map((nth) => ({ id: `${TOKENS[index]}${nth}` })) },
    ];
    assert.deepEqual(pathsOf(messages('news', 3, batch))?.id, ['0', 'items', '*', 'id']);
    // Not of one, and not of what else stands in the list.
    assert.deepEqual(pathsOf(messages('news', 3, (index) => [[{ id: TOKENS[index] }]]))?.id, ['0', '0', 'id']);
    const published = new Set(TOKENS);
    assert.deepEqual(
      pathsOf(
        messages('news', 3, (index) => [['said', TOKENS[index]]]),
        published,
      )?.id,
      ['0', '1'],
    );
  });

  it('that was published counts alone, wherever the server puts it', () => {
    const heard = [
      ...messages('tick', 3, (index) => [{ id: index }]),
      ...messages('said', 1, () => [['ann', { body: { ref: 'mine-1' } }]]),
    ];
    const found = pathsOf(heard, new Set(['mine-1', 'mine-2']));
    assert.deepEqual([found?.event, found?.id], ['said', ['0', '1', 'body', 'ref']]);
    assert.equal(pathsOf(heard, new Set(['another'])), undefined);
  });
});

describe('a time', () => {
  const timeAs = (write: (ms: number) => unknown) =>
    pathsOf(messages('said', 3, (index, ms) => [{ id: index, born: 946_684_800_000, when: write(ms) }]));

  it('is one that agrees with the clock here, in any unit', () => {
    for (const write of [(ms: number) => ms, (ms: number) => ms / 1000 + 1e-5, (ms: number) => ms * 1000]) {
      assert.deepEqual(timeAs(write)?.sentAt, ['0', 'when']);
    }
    assert.deepEqual(timeAs((ms) => new Date(ms).toISOString())?.sentAt, ['0', 'when']);
  });

  it('that is too coarse or days off is named, and not used', () => {
    const coarse = timeAs((ms) => Math.floor(ms / 1000));
    assert.deepEqual([coarse?.sentAt, coarse?.unusableTime?.path], [undefined, ['0', 'when']]);
    assert.match(coarse?.unusableTime?.reason ?? '', /whole seconds/);
    assert.match(timeAs((ms) => ms - 3 * 86_400_000)?.unusableTime?.reason ?? '', /3\.0 days before/);
  });
});
