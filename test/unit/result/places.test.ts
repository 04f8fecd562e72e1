/** What a connection keeps, by place of allocation: heap profiles of the workers become rows that add up to what V8 counts. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { placesOf } from '../../../plugin/result/memory/memory-places.ts';
import { heapProfileText, SAMPLING_INTERVAL_BYTES } from '../../../plugin/samplers/inspector/heap-profile.ts';
import { placesLine } from '../../../report/answer/places-line.ts';

const KB = 1024;
const node = (name: string, url: string, line: number, bytes: number, parent: number) => ({
  ...{ name, url, line },
  bytes: bytes * KB,
  parent,
});
const PROFILE = {
  folder: '/srv/app',
  nodes: [
    node('(root)', '', 0, 0, -1),
    node('onConnection', 'file:///srv/app/session.ts', 88, 300, 0),
    node('from', '', 0, 500, 1),
    node('Server', 'file:///srv/app/node_modules/@acme/chat/index.js', 5, 100, 0),
    node('on', 'node:events', 300, 50, 3),
    node('(V8 API)', '', 0, 40, 0),
    node('post', 'node:inspector', 115, 1000, 0),
  ],
};
const plateau = (connections: number, workerKept: number, workerExternal: number) => ({
  connections,
  layers: { workerKept: workerKept * KB, workerExternal: workerExternal * KB },
});
const PLATEAUS = [plateau(0, 10_000, 100), plateau(50, 10_500, 105), plateau(100, 11_020, 110)];

describe('places of allocation', () => {
  it('charge native code to the JavaScript that calls it, and add up to what V8 counts', () => {
    const places = placesOf({ heapProfiles: [PROFILE], plateaus: PLATEAUS });
    assert.ok(places);
    const sizes = places.packages.map(({ name, bytes }) => [name, bytes / KB]);
    const expected = { application: 8, '@acme/chat': 1, Node: 0.5, native: 0.4, external: 0.1 };
    assert.deepEqual(Object.fromEntries(sizes), expected);
    const sum = places.packages.reduce((total, { bytes }) => total + bytes, places.unattributedBytes);
    assert.ok(Math.abs(sum - places.growthBytes) < 1 && Math.abs(places.growthBytes / KB - 10.2) < 1e-9);
    const [first] = places.functions;
    assert.deepEqual([first?.name, first?.place, first?.bytes], ['onConnection', 'session.ts:88', 8 * KB]);
    const halfWidth = (1.96 * Math.sqrt(800 * KB * SAMPLING_INTERVAL_BYTES)) / 100;
    assert.ok(Math.abs((first?.halfWidth95 ?? 0) - halfWidth) < 1e-6);
  });

  it('add up over the processes of a server', () => {
    const places = placesOf({ heapProfiles: [PROFILE, PROFILE], plateaus: PLATEAUS });
    assert.equal(places?.functions[0]?.bytes, 16 * KB);
  });

  it('are unknown without a profile, and without the memory that they must add up to', () => {
    assert.equal(placesOf({ heapProfiles: new Error('gone'), plateaus: PLATEAUS }), undefined);
    assert.equal(placesOf({ heapProfiles: [PROFILE], plateaus: [{ connections: 100, layers: {} }] }), undefined);
  });

  it('are one line at the end of a run', () => {
    const [line] = placesLine(placesOf({ heapProfiles: [PROFILE], plateaus: PLATEAUS }));
    assert.equal(
      line?.text,
      'of the 10.2 KB that V8 counts per connection: application 8.0 (session.ts:88 8.0), @acme/chat 1.0, Node 0.5, native 0.4, external 0.1, others 0.2',
    );
  });

  it('are a file that DevTools open, with every process below one root', () => {
    const { head } = JSON.parse(heapProfileText([PROFILE, PROFILE]));
    assert.equal(head.children.length, 2);
    const [{ children }] = head.children;
    assert.deepEqual([children[0].callFrame.lineNumber, children[0].children[0].selfSize], [87, 500 * KB]);
  });
});
