import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { runArtillery } from '../../helpers/artillery.ts';
import { startRecording } from '../../helpers/recording-server.ts';

const ENGINE = 'socketio-capacity';

function script(target: string, flow: unknown[], options: object = {}, config: object = {}) {
  return {
    config: { target, phases: [{ duration: 1, arrivalCount: 2 }], engines: { [ENGINE]: options }, ...config },
    scenarios: [{ engine: ENGINE, flow }],
  };
}

describe('artillery run', { concurrency: 2 }, () => {
  it('artillery run holds connections until the last phase ends, and its report has their metrics', async (t) => {
    const { url, log } = await startRecording(t);
    const flow = [
      { emit: ['ask', 1], response: { on: 'answer' } },
      // Waits for an event that the server sends before it has received anything.
      { waitFor: { event: 'welcome', timeout: 1 } },
      { emit: ['x'], acknowledge: true },
      { hold: true },
    ];
    const phases = [{ duration: 1, arrivalCount: 2 }, { pause: 1 }];
    const { exitCode, counters, summaries, output } = await runArtillery(script(url, flow, {}, { phases }));
    assert.equal(exitCode, 0, output);
    assert.equal(counters['vusers.completed'], 2, output);
    assert.equal(counters['socketio.connects'], 2);
    assert.equal(counters['socketio.emit'], 4);
    for (const name of ['socketio.connect_time', 'socketio.response_time', 'socketio.ack_time']) {
      assert.equal(summaries[name]?.count, 2, name);
    }
    assert.ok((summaries['vusers.session_length']?.max ?? 0) >= 1000, 'held through the pause');
    assert.equal(log.filter((line) => line === 'disconnect /').length, 2);
  });

  it('artillery run counts refused connections, processor errors and drops, and continues', async (t) => {
    const { url } = await startRecording(t);
    const flow = [{ connect: true }, { function: 'maybe' }, { emit: ['kick'] }, { think: 1 }];
    const config = { processor: './p.cjs', phases: [{ duration: 1, arrivalCount: 4 }] };
    const maybe = 'let n = 0; exports.maybe = (context, ee, next) => { if (n++ % 2) throw new Error("boom"); next(); }';
    const { exitCode, counters, output } = await runArtillery(script(url, flow, {}, config), { 'p.cjs': maybe });
    assert.equal(exitCode, 1, output);
    assert.equal(counters['vusers.failed'], 4, output);
    assert.equal(counters['errors.function_maybe'], 2);
    assert.equal(counters['errors.disconnected_transport_close'], 2);
    assert.equal(counters['socketio.disconnect.transport_close'], 2);
    assert.equal(output.match(/Error: boom/g)?.length, 1, 'printed once, not for each failure');
  });

  it('artillery run reports the cause if nothing listens at the target', async () => {
    const { exitCode, counters, output } = await runArtillery(script('http://127.0.0.1:1', [{ connect: true }]));
    assert.equal(exitCode, 1, output);
    for (const part of ['First ECONNREFUSED: ', 'ALL_FAILED: ']) assert.ok(output.includes(part), output);
    assert.equal(counters['errors.ECONNREFUSED'], 2, output);
    assert.equal(counters['vusers.failed'], 2);
  });
});
