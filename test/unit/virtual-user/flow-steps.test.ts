/** Steps that shape the flow and send nothing: function, loop, hold. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Bench } from '../../helpers/virtual-user.ts';

describe('function', () => {
  const processor = {
    callback: (context: { vars: Record<string, unknown> }, _events: unknown, next: () => void) => {
      context.vars.called = true;
      setImmediate(next);
    },
    twice: (_context: unknown, _events: unknown, next: () => void) => {
      next();
      next();
    },
    promise: async (context: { vars: Record<string, unknown> }) => {
      context.vars.awaited = true;
    },
    plain: (context: { vars: Record<string, unknown> }) => {
      context.vars.plain = true;
    },
    throws: () => {
      throw new Error('boom');
    },
    rejects: async () => {
      throw new Error('boom');
    },
    nextError: (_context: unknown, _events: unknown, next: (error: Error) => void) => next(new Error('boom')),
  };

  it('runs callback, async and plain functions', async () => {
    const bench = new Bench({}, processor);
    const flow = ['callback', 'promise', 'plain', 'twice'].map((name) => ({ function: name }));
    const outcome = await bench.play(flow);
    assert.equal(outcome.error, null);
    assert.deepEqual(outcome.vars, { called: true, awaited: true, plain: true });
    assert.equal(outcome.callbacks, 1);
  });

  it('ends only its virtual user when it fails', async () => {
    for (const name of ['throws', 'rejects', 'nextError']) {
      const bench = new Bench({}, processor);
      const outcome = await bench.play([{ function: name }, { emit: ['never'] }]);
      assert.equal(outcome.error?.code, `function_${name.toLowerCase()}`);
      assert.equal(bench.warnings.length, 1);
    }
  });

  it('runs beforeScenario and afterScenario around the flow', async () => {
    const order: string[] = [];
    const note = (name: string) => async () => void order.push(name);
    const bench = new Bench({}, { a: note('a'), b: note('b'), c: note('c') });
    await bench.play([{ function: 'b' }], {}, { beforeScenario: 'a', afterScenario: ['c'] });
    assert.deepEqual(order, ['a', 'b', 'c']);
  });
});

describe('loop', () => {
  const emitted = (bench: Bench) => bench.fleet.sent.map(([, , value]) => value);

  it('counts, in a range, from a template, and goes over lists', async () => {
    const vars = { times: 2, people: ['ann', 'bob'] };
    for (const [step, expected] of [
      [{ loop: [{ emit: ['n', '{{ $loopCount }}'] }], count: 3 }, [0, 1, 2]],
      [{ loop: [{ emit: ['n', '{{ $loopCount }}'] }], count: '2-4' }, [2, 3]],
      [{ loop: [{ emit: ['n', '{{ i }}'] }], count: '{{ times }}', loopValue: 'i' }, [0, 1]],
      [{ loop: [{ emit: ['n', '{{ $loopElement }}'] }], over: ['a', 'b'] }, ['a', 'b']],
      [{ loop: [{ emit: ['n', '{{ who }}'] }], over: 'people', loopElement: 'who' }, ['ann', 'bob']],
      [{ loop: [{ emit: ['n', 'never'] }], over: 'nobody' }, []],
    ] as const) {
      const bench = new Bench();
      await bench.play([step], { ...vars });
      assert.deepEqual(emitted(bench), expected, JSON.stringify(step));
    }
  });

  it('asks a function, callback or async, whether to go on', async () => {
    const bench = new Bench(
      {},
      {
        callback: (context: { vars: { $loopCount: number } }, done: (goOn: boolean) => void) =>
          done(context.vars.$loopCount < 1),
        promise: async (context: { vars: { $loopCount: number } }) => context.vars.$loopCount < 2,
      },
    );
    await bench.play([
      { loop: [{ emit: ['n', '{{ $loopCount }}'] }], whileTrue: 'callback' },
      { loop: [{ emit: ['n', '{{ $loopCount }}'] }], whileTrue: 'promise' },
    ]);
    assert.deepEqual(emitted(bench), [0, 1, 0, 1, 2]);
  });

  it('keeps the element and the count of the loop around it', async () => {
    const bench = new Bench();
    const inner = { loop: [{ emit: ['n', '{{ $loopElement }}'] }], count: 2 };
    await bench.play([{ loop: [inner], over: ['a', 'b'] }]);
    assert.deepEqual(emitted(bench), ['a', 'a', 'b', 'b']);
  });

  it('lets others run while it goes on for ever', async () => {
    const bench = new Bench();
    let turns = 0;
    bench.fleet.onEmit = (connection) => {
      if (turns++ === 0) setTimeout(() => connection.drop('transport close'));
    };
    const done = bench.play([{ loop: [{ emit: ['n'] }] }]);
    assert.equal((await done).error?.code, 'disconnected_transport_close');
  });
});

describe('hold', () => {
  it('stays until released, leaves, and ends when all is measured', async () => {
    const bench = new Bench();
    const { promise: connected, resolve } = Promise.withResolvers<void>();
    bench.fleet.onOpen = () => resolve();
    const done = bench.play([{ connect: true }, { hold: true }]);
    await connected;
    await new Promise((turn) => setImmediate(turn));
    assert.equal(bench.engine.tally.holding, 1);
    assert.equal(bench.fleet.only.closed, false);
    bench.engine.signals.release.resolve();
    await new Promise((turn) => setImmediate(turn));
    assert.equal(bench.fleet.only.closed, true);
    const early = await Promise.race([done, 'still held']);
    assert.equal(early, 'still held');
    bench.engine.signals.finish.resolve();
    assert.equal((await done).error, null);
    assert.equal(bench.engine.tally.holding, 0);
  });
});

describe('a flow that only waits', () => {
  it('has a connection, unless it does something else', async () => {
    for (const [connections, flow] of [
      [1, [{ think: '1ms' }]],
      [1, [{ connect: true }, { think: '1ms' }]],
      [0, [{ think: '1ms' }, { log: 'no connection' }]],
      [0, []],
    ] as const) {
      const bench = new Bench();
      let opened = 0;
      bench.fleet.onOpen = () => opened++;
      assert.equal((await bench.play([...flow])).error, null);
      assert.equal(opened, connections, JSON.stringify(flow));
    }
  });
});
