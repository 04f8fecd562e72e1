import assert from 'node:assert/strict';
import { test } from 'node:test';
import { JsonLocator } from '../../../../plugin/fleet/light/in-place/json-locator.ts';
import { parseJsonPath, valueAt } from '../../../../protocol/json-path.ts';
import { openConnection, text } from '../../../helpers/fake-wire.ts';

const PLAN = { event: 'chat', id: ['0', 'id'], sentAt: ['0', 'at'], bytes: undefined, join: undefined };

function connection(plan: Partial<typeof PLAN> = {}) {
  const fake = openConnection({}, { ...PLAN, ...plan });
  return { sink: fake.sink, send: (packet: string) => fake.feed(text(`4${packet}`)) };
}

test('the locator finds what a parser finds, wherever it stands', () => {
  const values: unknown[] = [
    ['chat', { id: 'x' }],
    ['chat', { data: 'x'.repeat(100), id: 7 }],
    ['chat', { a: 'quote " brace } \\', b: `${'y'.repeat(40)}\\" \\\\`, c: [1, { id: 1 }, ']'], id: -1.5e9 }],
    ['chat', { nested: { id: 'inner' }, id: 'outer é \u2028 "' }],
    ['chat', [1, 2, 3], { id: null }],
    ['chat', 'text', { id: { deep: [] } }],
    ['chat'],
    ['chat', {}],
    ['chat', []],
    ['chat', 12],
  ];
  const paths = ['$.0.id', '$.1.id', '$.0', '$.0.nested.id', '$.0.c[1].id', '$.0[2]', '$.1.id.deep'];
  for (const value of values) {
    for (const space of [undefined, 1]) {
      // Older messages lie behind the end.
      const json = JSON.stringify(value, undefined, space);
      const bytes = Buffer.from(`  ${json}"],"}{[`);
      for (const path of paths.map((one) => parseJsonPath(one) as string[])) {
        const locator = new JsonLocator([String(Number(path[0]) + 1), ...path.slice(1)]);
        const found = locator.find(bytes, 2, 2 + Buffer.byteLength(json));
        const expected = valueAt((value as unknown[]).slice(1), path);
        assert.equal(found, expected !== undefined, `${json} ${path}`);
        if (found) assert.deepEqual(JSON.parse(bytes.toString('utf8', locator.start, locator.end)), expected);
      }
    }
  }
});

test('the locator reads nothing behind the end of a message that was cut short', () => {
  const json = JSON.stringify(['chat', { data: 'x'.repeat(50), id: 'abc' }]);
  const bytes = Buffer.from(json);
  const locator = new JsonLocator(['1', 'id']);
  for (let end = 0; end < json.indexOf('abc') + 4; end++) assert.equal(locator.find(bytes, 0, end), false, `${end}`);
  assert.equal(locator.find(bytes, 0, bytes.length), true);
});

test('a copy is reported with its id and its time, however its JSON is written', () => {
  const { sink, send } = connection();
  send('2["chat",{"id":"a","at":5}]');
  send('2/room,17["chat", {"at": "2026-01-01T00:00:00Z", "id": "b \\"\\u00e9"}]');
  send('2["chat",{"id":1.0}]');
  send('2["chat",{"\\u0069d":"escaped","at":6}]');
  send('2["\\u0063hat",{"id":"name"}]');
  send('2["chat",{"text":"x","id":"a"}]');
  assert.deepEqual(
    sink.all('own').map(({ id, sentAt }) => [id, sentAt]),
    [
      ['a', 5],
      ['b "é', '2026-01-01T00:00:00Z'],
      ['1', undefined],
      ['escaped', 6],
      ['name', undefined],
      ['a', undefined],
    ],
  );
});

test('a copy without an id is reported as unreadable, with an example; other events are ignored', () => {
  const { sink, send } = connection();
  send('2["chat",{"identity":"a"}]');
  send('2["chat",{"id":{}}]');
  send('2["chat",{"id":null}]');
  send('2["chat"]');
  send('2["chatter",{"id":"a"}]');
  send('2["broadcast",{"seq":1,"sentAtUs":1,"worker":"w","data":""}]');
  assert.deepEqual(
    sink.all('unreadable').map(({ example }) => example),
    ['["chat",{"identity":"a"}]', '["chat",{"id":{}}]', '["chat",{"id":null}]', '["chat"]'],
  );
  assert.equal(sink.all('own').length, 0);
  assert.equal(sink.all('ignored').length, 2);
});

test('ids far from the beginning, in copies that differ only behind or in them', () => {
  const { sink, send } = connection();
  const far = 'x'.repeat(300);
  const copies: [string, string][] = [
    [`2["chat",{"data":"${far}","id":1,"at":1}]`, '1'],
    [`2["chat",{"data":"${far}","id":1,"at":2}]`, '1'],
    [`2["chat",{"data":"${far}","id":12}]`, '12'],
    [`2["chat",{"data":"${far}","id":"1"}]`, '1'],
    [`2["chat",{"id":"near"}]`, 'near'],
    [`2["chat",{"data":"${far}","id":"1"}]`, '1'],
    [`2["chat",{"data":"${far}y","id":"2"}]`, '2'],
  ];
  for (const [packet] of copies) send(packet);
  assert.deepEqual(
    sink.all('own').map(({ id }) => id),
    copies.map(([, id]) => id),
  );
});

test('the first argument itself can be the id', () => {
  const { sink, send } = connection({ id: ['0'] });
  send('2["chat","m1"]');
  send('2["chat",17,"more"]');
  assert.deepEqual(
    sink.all('own').map(({ id }) => id),
    ['m1', '17'],
  );
});
