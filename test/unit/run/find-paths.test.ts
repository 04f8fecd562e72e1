import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findEventPaths, type ReceivedMessage } from '../../../plugin/run/broadcasts/find-paths.ts';
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';

/** @param make returns the arguments of a message, by its index and its time of arrival (Unix time in ms) */
function messages(event: string, count: number, make: (index: number, nowMs: number) => unknown[]): ReceivedMessage[] {
  const [epochMs, startUs] = [Date.now(), monotonicUs()];
  return Array.from({ length: count }, (_, index) => ({
    event,
    args: make(index, epochMs + index * 1000),
    receivedAtUs: startUs + index * 1e6 + 5000,
  }));
}

const TOKENS = ['f3a9c1d2e4', 'b71e09aa55', '0c5d8871fe'];
const token = (index: number) => TOKENS[index];
/** Returns the paths of ids in broadcasts that two connections receive in the same way. */
const pathsOf = (heard: ReceivedMessage[], published?: Set<string>) => findEventPaths([heard, heard], published);

type Make = (index: number, nowMs: number) => unknown;

describe('an id', () => {
  /** Arguments of three messages, and the expected path of the id. */
  const CASES: [what: string, make: Make, path?: string][] = [
    [
      'the value that differs between all messages',
      (n) => ({ room: 'a', kind: 7, meta: { id: 40 + 3 * n } }),
      'meta.id',
    ],
    ['a counter', (n) => n, ''],
    ['a token under any name', (n) => ({ n: token(n) }), 'n'],
    ['a token named `id`, not a user’s id or a time', (n, at) => ({ at, userId: 2 * n, n, id: token(n) }), 'id'],
    ['the time if nothing else differs between all messages', (n, at) => ({ price: 100 + n * 5, at }), 'at'],
    ['each of several ids in an event', (n) => [0, 1].slice(n % 2).map((nth) => ({ id: `${token(n)}${nth}` })), '*.id'],
    ['the id in a list of one', (n) => [{ id: token(n) }], '0.id'],
    ['absent in free text', (n) => ({ text: `hello number ${n}` })],
    ['absent if values repeat', (n) => ({ id: n % 2 })],
  ];
  for (const [what, make, path] of CASES) {
    it(`the id found in messages is ${what}`, () => {
      const found = pathsOf(messages('said', 3, (index, nowMs) => [make(index, nowMs)]));
      const expected = path === undefined ? undefined : ['0', ...path.split('.').filter(Boolean)];
      assert.deepEqual(found?.id, expected);
    });
  }

  it('finds no id in one message, or in messages to single connections', () => {
    assert.equal(pathsOf(messages('said', 1, () => [{ id: 'only-one-1' }])), undefined);
    const own = (name: string) => messages('hello', 3, (index) => [{ id: `${name}-${index}` }]);
    assert.equal(findEventPaths([own('a'), own('b')]), undefined);
    assert.equal(pathsOf([]), undefined);
  });

  it('finds an id that was published, wherever the server puts it', () => {
    const heard = [
      ...messages('tick', 3, (index) => [{ id: index }]),
      ...messages('said', 1, () => [['ann', { body: { ref: 'mine-1' } }]]),
    ];
    const found = pathsOf(heard, new Set(['mine-1', 'mine-2']));
    assert.deepEqual([found?.event, found?.id], ['said', ['0', '1', 'body', 'ref']]);
    assert.equal(pathsOf(heard, new Set(['another'])), undefined);
    const list = messages('news', 3, (index) => [['said', token(index)]]);
    assert.deepEqual(pathsOf(list, new Set(TOKENS))?.id, ['0', '1']);
  });
});

describe('a time', () => {
  /** Format of the time, and the reason if it is unusable. */
  const CASES: [what: string, write: (ms: number) => unknown, unusable?: RegExp][] = [
    ['in milliseconds', (ms) => ms],
    ['in seconds', (ms) => ms / 1000 + 1e-5],
    ['in microseconds', (ms) => ms * 1000],
    ['written as text', (ms) => new Date(ms).toISOString()],
    ['in whole seconds', (ms) => Math.floor(ms / 1000), /whole seconds/],
    ['days off', (ms) => ms - 3 * 86_400_000, /3\.0 days/],
  ];
  for (const [what, write, unusable] of CASES) {
    it(`a time ${what} is ${unusable ? 'reported and unused' : 'found'}`, () => {
      const born = 946_684_800_000;
      const found = pathsOf(messages('said', 3, (id, ms) => [{ id, born, when: write(ms) }]));
      const { path, reason = '' } = found?.unusableTime ?? {};
      assert.deepEqual(unusable ? path : found?.sentAt, ['0', 'when']);
      assert.deepEqual(unusable ? found?.sentAt : path, undefined);
      assert.match(reason, unusable ?? /^$/);
    });
  }

  it('a time can be the id at the same time', () => {
    assert.deepEqual(pathsOf(messages('price', 3, (_, at) => [{ at }]))?.sentAt, ['0', 'at']);
  });
});

/** Views of players in the same millisecond, and the path of the id if the views are broadcasts. */
const VIEWS: [what: string, view: (player: string, tick: number) => object, id?: string][] = [
  ['a different view for each player', (me, tick) => ({ me, x: tick * 7.5 })],
  ['the same view for all players', (_, tick) => ({ players: [{ x: tick * 7.5 }] }), 't'],
  ['a tick number in different views', (me, tick) => ({ me, tick }), 'tick'],
];
for (const [what, view, id] of VIEWS) {
  it(`messages with identical times and ${what} have ${id ? `the id ${id}` : 'no id'}`, () => {
    const [epochMs, startUs] = [Date.now(), monotonicUs()];
    const heardBy = (player: string) =>
      [1, 2, 3, 4].map((tick) => ({
        event: 'update',
        args: [{ t: epochMs + tick * 33, ...view(player, tick) }],
        receivedAtUs: startUs + tick * 33_000 + 500,
      }));
    assert.deepEqual(findEventPaths([heardBy('ann'), heardBy('bob')])?.id, id && ['0', id]);
  });
}
