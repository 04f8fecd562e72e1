import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { durationMs } from '../../../plugin/script/duration.ts';
import { withJitter } from '../../../plugin/virtual-user/steps/think.ts';
import type { UserContext } from '../../../plugin/virtual-user/user-types.ts';
import { VirtualTime } from '../../helpers/virtual-time.ts';
import { Bench } from '../../helpers/virtual-user.ts';

type Context = { vars: Record<string, unknown> };

describe('function', () => {
  const boom = () => {
    throw new Error('boom');
  };
  const processor = {
    callback: ({ vars }: Context, _events: unknown, next: () => void) => {
      vars.called = true;
      setImmediate(next);
    },
    twice: (_context: unknown, _events: unknown, next: () => void) => [next(), next()],
    promise: async ({ vars }: Context) => {
      vars.awaited = true;
    },
    plain: ({ vars }: Context) => {
      vars.plain = true;
    },
    throws: boom,
    rejects: async () => boom(),
    nextError: (_context: unknown, _events: unknown, next: (error: Error) => void) => next(new Error('boom')),
  };

  it('a function step runs callback, async and plain functions', async () => {
    const names = ['callback', 'promise', 'plain', 'twice'];
    const outcome = await new Bench({}, processor).play(names.map((name) => ({ function: name })));
    assert.deepEqual([outcome.error, outcome.callbacks], [null, 1]);
    assert.deepEqual(outcome.vars, { called: true, awaited: true, plain: true });
  });

  for (const name of ['throws', 'rejects', 'nextError']) {
    it(`a failed function step ends only its virtual user: ${name}`, async () => {
      const bench = new Bench({}, processor);
      const code = await bench.codeOf({ function: name }, { emit: ['never'] });
      assert.deepEqual([code, bench.warnings.length], [`function_${name.toLowerCase()}`, 1]);
    });
  }

  it('a flow runs beforeScenario first and afterScenario last', async () => {
    const order: string[] = [];
    const note = (name: string) => async () => void order.push(name);
    const bench = new Bench({}, { a: note('a'), b: note('b'), c: note('c') });
    await bench.passes([{ function: 'b' }], {}, { beforeScenario: 'a', afterScenario: ['c'] });
    assert.deepEqual(order, ['a', 'b', 'c']);
  });
});

describe('loop', () => {
  const emitted = (bench: Bench) => bench.fleet.sent.map(([, , value]) => value);
  const emit = (value: string) => [{ emit: ['n', value] }];

  for (const [what, step, expected] of [
    ['counts', { loop: emit('{{ $loopCount }}'), count: 3 }, [0, 1, 2]],
    ['counts in a range', { loop: emit('{{ $loopCount }}'), count: '2-4' }, [2, 3]],
    ['counts from a template', { loop: emit('{{ i }}'), count: '{{ times }}', loopValue: 'i' }, [0, 1]],
    ['iterates over a list', { loop: emit('{{ $loopElement }}'), over: ['a', 'b'] }, ['a', 'b']],
    ['iterates over a variable', { loop: emit('{{ who }}'), over: 'people', loopElement: 'who' }, ['ann', 'bob']],
    ['iterates over nothing', { loop: emit('never'), over: 'nobody' }, []],
  ] as const) {
    it(`a loop step ${what}`, async () => {
      const bench = new Bench();
      await bench.passes([step], { times: 2, people: ['ann', 'bob'] });
      assert.deepEqual(emitted(bench), expected);
    });
  }

  it('a loop step asks a function, callback or async, whether to continue', async () => {
    const callback = ({ vars }: Context, done: (goOn: boolean) => void) => done(Number(vars.$loopCount) < 1);
    const promise = async ({ vars }: Context) => Number(vars.$loopCount) < 2;
    const bench = new Bench({}, { callback, promise });
    const loops = ['callback', 'promise'].map((whileTrue) => ({ loop: emit('{{ $loopCount }}'), whileTrue }));
    await bench.passes(loops);
    assert.deepEqual(emitted(bench), [0, 1, 0, 1, 2]);
  });

  it('an inner loop keeps the element and the count of the loop around it', async () => {
    const bench = new Bench();
    await bench.passes([{ loop: [{ loop: emit('{{ $loopElement }}'), count: 2 }], over: ['a', 'b'] }]);
    assert.deepEqual(emitted(bench), ['a', 'a', 'b', 'b']);
  });

  it('other virtual users run during an endless loop', async () => {
    const bench = new Bench();
    let turns = 0;
    bench.fleet.onEmit = (connection) => {
      if (turns++ === 0) setTimeout(() => connection.drop('transport close'));
    };
    assert.equal(await bench.codeOf({ loop: emit('x') }), 'disconnected_transport_close');
  });
});

describe('think', () => {
  const DURATIONS: [ms: number | undefined, ...written: unknown[]][] = [
    [5000, 5, '5', '5s', '5 seconds'],
    [500, 0.5, '0.5', '500ms'],
    [0, 0],
    [300_000, '5m'],
    [3_600_000, '1h'],
    [undefined, -1, Number.NaN, 'soon', '5 parsecs', '', null, undefined, {}],
  ];
  it('a think step reads bare numbers as seconds, whole or not', () => {
    for (const [ms, ...written] of DURATIONS) {
      for (const value of written) assert.equal(durationMs(value), ms, String(value));
    }
  });

  it('the jitter of a think step varies by milliseconds or percent, never below zero', () => {
    const awayMs = (jitter: number | string | undefined) => Math.abs(withJitter(1000, jitter) - 1000);
    for (let round = 0; round < 200; round++) {
      assert.ok(awayMs(100) <= 100 && awayMs('100') <= 100 && awayMs('20%') <= 200);
      assert.ok(withJitter(10, 1000) >= 0);
    }
    assert.equal(awayMs(undefined), 0);
  });

  it('a think step waits for a time from a template, and fails if the template has no value', async (t) => {
    const time = new VirtualTime(t);
    const think = (pause: string) => time.until(new Bench().play([{ think: '{{ pause }}' }], { pause }));
    assert.deepEqual([(await think('30s')).error, time.nowMs], [null, 30_000]);
    assert.equal((await think('soon')).error?.code, 'invalid_template');
  });
});

it('a hold step keeps its connections open until the run releases them', async () => {
  const bench = new Bench();
  const { tally, signals } = bench.engine;
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  const { promise: connected, resolve } = Promise.withResolvers<void>();
  bench.fleet.onOpen = () => resolve();
  const done = bench.passes([{ connect: true }, { hold: true }]);
  await connected;
  await turn();
  assert.deepEqual([tally.holding, bench.fleet.only.closed], [1, false]);
  signals.release.resolve();
  await turn();
  assert.equal(bench.fleet.only.closed, true);
  assert.equal(await Promise.race([done, 'still held']), 'still held');
  signals.finish.resolve();
  await done;
  assert.equal(tally.holding, 0);
});

describe('a flow that only waits', () => {
  for (const [connections, flow] of [
    [1, [{ think: '1ms' }]],
    [1, [{ connect: true }, { think: '1ms' }]],
    [0, [{ think: '1ms' }, { log: 'no connection' }]],
    [0, []],
  ] as [number, unknown[]][]) {
    it(`a flow of ${JSON.stringify(flow)} opens ${connections} connections, unless it has another step`, async () => {
      const bench = new Bench();
      await bench.passes(flow);
      assert.equal(bench.fleet.connections.length, connections);
    });
  }
});

it('an error of a processor function is shown without the values of its virtual user', async () => {
  const fail = async (...args: unknown[]) => {
    const { vars } = args.find((arg) => (arg as UserContext).vars) as UserContext;
    throw new Error(`cannot log in with ${vars.pin}: ${JSON.stringify(vars)} ${'x'.repeat(10_000)}`);
  };
  for (const step of [{ function: 'fail' }, { emit: ['a'], beforeRequest: 'fail' }]) {
    const bench = new Bench({}, { fail });
    const { error } = await bench.play([step], { pin: 'CANARY-27', token: 'CANARY-28' });
    assert.equal(error?.code, 'function_fail');
    const [warning = ''] = bench.warnings;
    assert.match(warning, /^processor function fail failed: Error: cannot log in with \*\*\*/);
    assert.doesNotMatch(warning, /CANARY/);
    assert.ok(warning.length < 3000);
  }
});

describe('on', () => {
  const prices: unknown[] = [];
  const processor = {
    check: ([price]: [number], { vars }: Context, events: { emit(...args: unknown[]): void }) => {
      prices.push([price, vars.name]);
      events.emit('counter', 'prices.seen', 1);
      if (price < 0) throw new Error(`price ${price}`);
    },
  };

  it('an `on` step calls its function with each event from the connect on, and counts failed calls', async () => {
    const bench = new Bench({}, processor);
    bench.fleet.onOpen = (connection) => {
      for (const price of [1, -2, 3]) connection.deliver('/', 'price', price);
    };
    const flow = [{ emit: ['hello'] }, { on: { event: 'price', function: 'check' } }, { waitFor: { event: 'price' } }];
    const { error, errors } = await bench.play(flow, { name: 'ada' });
    assert.deepEqual([error, errors], [null, []]);
    assert.deepEqual(prices, [
      [1, 'ada'],
      [-2, 'ada'],
      [3, 'ada'],
    ]);
    const { functions, examples } = bench.engine.tally;
    const counters = { 'prices.seen': 3 };
    assert.deepEqual(functions, { received: 3, dropped: 0, failures: { check: 1 }, counters });
    assert.equal(examples.function_check, 'price -2');
    assert.equal(bench.counters['prices.seen'], 3);
  });

  it('an `on` step keeps a limited number of slow calls and counters', async () => {
    let release = () => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    let calls = 0;
    const slow = async (_args: unknown, _context: unknown, events: { emit(...args: unknown[]): void }) => {
      events.emit('counter', `name ${++calls}`, 1);
      await released;
    };
    const bench = new Bench({}, { slow });
    bench.fleet.onOpen = (connection) => {
      for (let index = 0; index < 1500; index++) connection.deliver('/', 'price', index);
    };
    await bench.passes([{ on: { event: 'price', function: 'slow' } }]);
    release();
    const { received, dropped, counters } = bench.engine.tally.functions;
    assert.deepEqual([received, dropped, calls, Object.keys(counters).length], [1500, 500, 1000, 100]);
  });
});
