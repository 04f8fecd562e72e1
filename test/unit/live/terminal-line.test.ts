import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { describe, it, type TestContext } from 'node:test';
import { hasLiveTerminal } from '../../../plugin/conduct/terminal.ts';
import { createLiveFactsReader } from '../../../plugin/live/live-figures.ts';
import { type LiveFacts, LiveLine, renderLive } from '../../../plugin/live/terminal-line.ts';
import type { Conductor } from '../../../plugin/run/conductor.ts';
import { FakeRun } from '../../helpers/fake-run.ts';
import { Screen } from '../../helpers/screen.ts';

const FACTS: LiveFacts = {
  stage: 'ramp',
  connections: { now: 1234, target: 5000, failures: {}, lost: {}, achievedRatePerSec: 499.6 },
  broadcasts: { sent: 0, planned: 20, received: 0 },
  secondsLeft: 61.2,
};

function liveOn(t: TestContext, columns = 100) {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const screen = new Screen(columns);
  const stream = Object.assign(new PassThrough(), { columns });
  stream.on('data', (chunk) => screen.write(String(chunk)));
  const line = new LiveLine(stream as never, () => FACTS);
  line.start();
  return { screen, stream, line };
}

describe('the live line', () => {
  const facts = ({ connections, ...changes }: Partial<Omit<LiveFacts, 'connections'>> & { connections?: object }) => ({
    ...{ ...FACTS, ...changes },
    connections: { ...FACTS.connections, ...connections },
  });
  const still = { achievedRatePerSec: 0 };
  const sending = { stage: 'broadcasts', broadcasts: { sent: 3, planned: 20, received: 15_000 }, secondsLeft: 0 };
  const leaving = (now: number) => ({ stage: 'disconnect', connections: { ...still, now }, secondsLeft: 0.9 });
  const failing = { ...still, failures: { ECONNREFUSED: 1, http_503: 1200 }, lost: { 'transport close': 3 } };
  const RAMP = 'ramp · 1,234 / 5,000 connected';
  for (const [what, changes, line] of [
    ['connections, rate and time', {}, `${RAMP} · 500/s · about 61 s left`],
    ['no remaining time once the planned duration has passed', { secondsLeft: -2 }, `${RAMP} · 500/s`],
    [
      'broadcasts',
      { ...sending, connections: { ...still, now: 5000 } },
      'broadcasts · broadcast 3 of 20, 15,000 delivered',
    ],
    ['connections that are still open during the disconnect', leaving(12), 'disconnect · 12 still connected'],
    ['no number of connections once all are closed', leaving(0), 'disconnect'],
    [
      'failures and losses with their causes',
      { connections: failing, secondsLeft: 0 },
      `${RAMP} · 1,201 failed · 3 lost · http_503 1,200, ECONNREFUSED 1 · transport close 3`,
    ],
  ] as const) {
    it(`the live line shows ${what}`, () => assert.equal(renderLive(facts(changes)), `  ${line}`));
  }

  it('the live line stays on one line below the cursor, however often it is drawn', (t) => {
    const { screen, stream } = liveOn(t);
    stream.write('Phase started\nspinner');
    t.mock.timers.tick(2000);
    assert.deepEqual(screen.lines(), ['Phase started', 'spinner', renderLive(FACTS)]);
  });

  it('the live line is cut to the terminal’s width', (t) => {
    const { screen } = liveOn(t, 30);
    t.mock.timers.tick(250);
    assert.equal(screen.lines().at(-1), renderLive(FACTS).slice(0, 29));
  });

  it('the live line is cleared for a log line, and drawn again below it', (t) => {
    const { screen, stream, line } = liveOn(t);
    t.mock.timers.tick(250);
    line.clear();
    stream.write('Phase completed\n');
    assert.deepEqual(screen.lines(), ['Phase completed']);
    t.mock.timers.tick(250);
    assert.deepEqual(screen.lines(), ['Phase completed', '', renderLive(FACTS)]);
  });

  it('the live line leaves nothing on the screen when closed', (t) => {
    const { screen, line } = liveOn(t);
    t.mock.timers.tick(1000);
    line.close();
    line.close();
    t.mock.timers.tick(1000);
    assert.deepEqual(screen.lines(), []);
  });

  it('the live line is drawn on terminals only', () => {
    assert.equal(hasLiveTerminal({ isTTY: true }, { TERM: 'xterm' }), true);
    assert.equal(hasLiveTerminal({}, { TERM: 'xterm' }), false);
    for (const env of [{ TERM: 'dumb' }, { CI: 'true' }]) assert.equal(hasLiveTerminal({ isTTY: true }, env), false);
  });
});

it('the live line counts only broadcasts as delivered, not other messages with the same event name', () => {
  const { context, status } = new FakeRun();
  Object.assign(status, { received: 6440, reached: 3200 });
  assert.equal(createLiveFactsReader({ stage: 'broadcasts' } as Conductor, context)().broadcasts.received, 3200);
});
