import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cpuByCodePlace } from '../../../plugin/result/places/cpu-places.ts';
import { memoryCodePlaces } from '../../../plugin/result/places/memory-places.ts';
import { newOverTime } from '../../../plugin/run/memory/measure-over-time.ts';
import { cpuProfileText, heapProfileText } from '../../../plugin/samplers/profiles/profile-text.ts';
import { PROFILE_LIMITS, type V8Profile } from '../../../protocol/profiles/profile-schema.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { cpuCodePlacesLine, memoryCodePlacesLine } from '../../../report/answer/memory-line.ts';

const KB = 1024;
const node = (name: string, url: string, line: number, self: number, parent: number) => {
  return { name, url, line, self, parent };
};
const HEAP: V8Profile = {
  kind: 'heap',
  folder: '/srv/app',
  nodes: [
    node('(root)', '', 0, 0, -1),
    node('onConnection', 'file:///srv/app/session.ts', 88, 300 * KB, 0),
    node('from', '', 0, 500 * KB, 1),
    node('Server', 'file:///srv/app/node_modules/@acme/chat/index.js', 5, 100 * KB, 0),
    node('on', 'node:events', 300, 50 * KB, 3),
    node('(V8 API)', '', 0, 40 * KB, 0),
    node('post', 'node:inspector', 115, 1000 * KB, 0),
  ],
};
const plateau = (connections: number, workerKept: number, workerExternal: number) => ({
  connections,
  layers: { workerKept: workerKept * KB, workerExternal: workerExternal * KB },
});
const PLATEAUS = [plateau(0, 10_000, 100), plateau(50, 10_500, 105), plateau(100, 11_020, 110)];

describe('places of allocation', () => {
  it("allocation sites charge native code to the calling JavaScript, and add up to V8's count", () => {
    const places = memoryCodePlaces({ heapProfiles: [HEAP], plateaus: PLATEAUS });
    assert.ok(places);
    const sizes = places.packages.map(({ name, bytes }) => [name, bytes / KB]);
    const expected = { application: 8, '@acme/chat': 1, Node: 0.5, native: 0.4, external: 0.1 };
    assert.deepEqual(Object.fromEntries(sizes), expected);
    const sum = places.packages.reduce((total, { bytes }) => total + bytes, places.unattributedBytes);
    assert.ok(Math.abs(sum - places.growthBytes) < 1 && Math.abs(places.growthBytes / KB - 10.2) < 1e-9);
    const [first] = places.functions;
    assert.deepEqual([first?.name, first?.place, first?.bytes], ['onConnection', 'session.ts:88', 8 * KB]);
    const halfWidth = (1.96 * Math.sqrt(800 * KB * PROFILE_LIMITS.interval.heap)) / 100;
    assert.ok(Math.abs((first?.halfWidth95 ?? 0) - halfWidth) < 1e-6);
  });

  it('allocation sites are summed over the processes of a server', () => {
    const places = memoryCodePlaces({ heapProfiles: [HEAP, HEAP], plateaus: PLATEAUS });
    assert.equal(places?.functions[0]?.bytes, 16 * KB);
  });

  it('memory of allocation sites is divided by the connections of all waves but the first', () => {
    const overTime = newOverTime({ collect: true, every: undefined }, true);
    for (const [gone, kept] of [
      [100, 10_000],
      [150, 10_510],
      [200, 11_020],
    ] as const)
      overTime.readings.add({ t: gone, connections: 0, gone, layers: plateau(0, kept, 100).layers });
    const places = memoryCodePlaces({ heapProfiles: [HEAP], plateaus: [], overTime });
    assert.deepEqual([places?.connections, places?.leftBehind], [100, true]);
    assert.equal(places?.growthBytes, 10.2 * KB);
    assert.equal(places?.functions[0]?.bytes, 8 * KB);
    const [line] = memoryCodePlacesLine({ memory: { places } as Result['memory'] });
    assert.match(line?.text ?? '', /^of the 10\.2 KB that V8 counts of each closed connection: application/);
  });

  it('allocation sites are unknown without a heap profile, or without the measured memory', () => {
    assert.equal(memoryCodePlaces({ heapProfiles: new Error('gone'), plateaus: PLATEAUS }), undefined);
    assert.equal(memoryCodePlaces({ heapProfiles: [HEAP], plateaus: [{ connections: 100, layers: {} }] }), undefined);
  });

  it('shows a documented saving at an allocation site only if the server has not applied them', () => {
    const [engine, ws] = ['engine.io/build/server.js', 'ws/lib/receiver.js'].map(
      (one) => `file:///a/node_modules/${one}`,
    );
    const savingsOf = (kept: number) => {
      const nodes = [
        node('(root)', '', 0, 0, -1),
        node('parserOnHeadersComplete', 'node:_http_common', 77, 0, 0),
        node('IncomingMessage', 'node:_http_incoming', 58, kept * KB, 1),
        node('completeUpgrade', 'file:///a/node_modules/ws/lib/websocket-server.js', 372, 0, 0),
        node('emit', 'node:events', 489, 0, 3),
        node('', engine ?? '', 491, 2 * kept * KB, 4),
        node('Receiver', ws ?? '', 51, 100 * KB, 3),
        node('Writable', 'node:internal/streams/writable', 300, 50 * KB, 6),
        node('keep', 'file:///srv/app/session.ts', 88, 500 * KB, 4),
      ];
      const places = memoryCodePlaces({ heapProfiles: [{ ...HEAP, nodes }], plateaus: PLATEAUS });
      return places?.savings?.map(({ name, bytes }) => [name, bytes]);
    };
    assert.deepEqual(savingsOf(80), [
      ['first-request', 2.4 * KB],
      ['ws', 1.5 * KB],
    ]);
    assert.deepEqual(savingsOf(0), [['ws', 1.5 * KB]]);
  });

  it('prints allocation sites in one line at the end of a run', () => {
    const places = memoryCodePlaces({ heapProfiles: [HEAP], plateaus: PLATEAUS });
    const [line] = memoryCodePlacesLine({ memory: { places } as Result['memory'] });
    assert.equal(
      line?.text,
      'of the 10.2 KB that V8 counts per connection: application 8.0 (session.ts:88 8.0), @acme/chat 1.0, Node 0.5, native 0.4, external 0.1, others 0.2',
    );
  });

  it('writes allocation sites to a file that DevTools opens, with every process below one root', () => {
    const { head } = JSON.parse(heapProfileText([HEAP, HEAP]));
    assert.equal(head.children.length, 2);
    const [{ children }] = head.children;
    assert.deepEqual([children[0].callFrame.lineNumber, children[0].children[0].selfSize], [87, 500 * KB]);
  });
});

describe('places of CPU', () => {
  const CPU: V8Profile = {
    kind: 'cpu',
    folder: '/srv/app',
    nodes: [
      node('(root)', '', 0, 0, -1),
      node('(idle)', '', 0, 100_000, 0),
      node('(garbage collector)', '', 0, 6000, 0),
      node('onConnection', 'file:///srv/app/session.ts', 88, 30_000, 0),
      node('write', '', 0, 12_000, 3),
      node('(program)', '', 0, 12_000, 0),
    ],
    cpu: { processUs: 70_000, threadUs: 60_000 },
  };
  const placesOf = (cpu: V8Profile['cpu']) =>
    cpuByCodePlace({ connect: { profiles: [cpu ? { ...CPU, cpu } : CPU], units: 10 } })?.connect;
  const sizes = (places: ReturnType<typeof placesOf>) =>
    Object.fromEntries(places?.packages.map(({ name, us }) => [name, us]) ?? []);

  it("the CPU profile by function excludes idle time, and adds up to the kernel's count", () => {
    const places = placesOf(CPU.cpu);
    const expected = { application: 4200, native: 1200, 'other threads': 1000, 'garbage collection': 600 };
    assert.deepEqual(sizes(places), expected);
    assert.equal(places?.us, 7000);
    assert.equal(places?.unattributedUs, 0);
    assert.ok(Math.abs((places?.busyShare ?? 0) - 60 / 160) < 1e-9);
    assert.deepEqual(
      places?.functions.map(({ place, us }) => [place, us]),
      [['session.ts:88', 4200]],
    );
  });

  it('the CPU profile by function shows CPU time that no sample explains', () => {
    const places = placesOf({ processUs: 100_000, threadUs: 90_000 });
    assert.equal(places?.unattributedUs, 3000);
    assert.equal(sizes(places).application, 4200);
  });

  it('prints the functions that use most CPU, or why they are unknown, in one line at the end of a run', () => {
    const memory = {} as Result['memory'];
    const found = cpuByCodePlace({ connect: { profiles: [CPU], units: 10 }, failure: new Error('the process ended') });
    const [line] = cpuCodePlacesLine({ memory, cpuByPlace: found });
    assert.equal(
      line?.text,
      'worker CPU by place, profiled: of 7.00 ms per connect: application 4.20 (session.ts:88 4.20), native 1.20, other threads 1.00, garbage collection 0.600, others 0',
    );
    assert.equal(found?.absent, 'the process ended');
  });

  it('writes the CPU profile to a file that DevTools opens, with calls as long as their samples', () => {
    const { nodes, samples, timeDeltas, endTime } = JSON.parse(cpuProfileText([CPU]));
    assert.equal(samples.length, timeDeltas.length);
    assert.equal(endTime, 160_000);
    const id = nodes.find((one: { callFrame: { functionName: string } }) => one.callFrame.functionName === 'write').id;
    assert.equal(timeDeltas[samples.indexOf(id) + 1], 12_000);
  });
});
