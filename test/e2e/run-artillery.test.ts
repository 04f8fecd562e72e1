/** Tests features of Artillery in a run: data of users, skipped arrivals, checks, and the terminal. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { REPORT_FILES } from '../../plugin/result/report-files.ts';
import { EXIT_CODES } from '../../protocol/codes/exit-codes.ts';
import { startApp } from '../helpers/app.ts';
import { startChat, startInstrumented } from '../helpers/chat-server.ts';
import { noTerminal } from '../helpers/cli.ts';
import { assertEach } from '../helpers/columns.ts';
import { eventually } from '../helpers/poll.ts';
import { urlOf } from '../helpers/raw-listen.ts';
import { goodResult, quickScript, reasonsOfServer, startRun } from '../helpers/run.ts';
import { Screen } from '../helpers/screen.ts';

/** Control characters at the end of each update of the live line: cursor up and carriage return. */
const BACK_UP = '\x1b[1A\r';
const VERDICT = /^Measurement: (VALID|SUSPECT)/m;
const LIVE = / · (\d+ \/ 10 connected|broadcast \d)/;
const COLUMNS = 100;

/**
 * Starts a run on a server that checks a token in the handshake.
 * @param isKnown whether the server accepts the token
 */
async function startLogin(
  t: TestContext,
  isKnown: (token: string) => boolean,
  more: object = {},
  options: object = {},
  how: { env?: Record<string, string>; terminal?: boolean } = {},
) {
  const { url, control } = await startInstrumented(t, () => {}, {
    allowRequest: ({ headers }, answer) =>
      isKnown(headers.authorization ?? '') ? answer(null, true) : answer('who are you?', false),
  });
  const payload = [{ path: 'tokens.csv', fields: ['token'], order: 'sequence' }];
  const { config, scenarios } = quickScript({ target: url, payload, ...more }, { control, ...options });
  const socketio = { extraHeaders: { authorization: '{{ token }}' } };
  Object.assign(config.plugins, { ensure: {} });
  const script = { config, scenarios: scenarios.map((scenario) => ({ ...scenario, socketio })) };
  return startRun(t, { script, before: 'seq -f token-%g 0 29 > tokens.csv', ...how });
}

describe('a run', { concurrency: 2 }, () => {
  it('a run logs in, updates its live view, prints one screen, and writes all files, with its thresholds', async (t) => {
    const ensure = {
      thresholds: [{ 'connections.failed': 1 }],
      conditions: [{ expression: 'connections.peak > 100', strict: false }],
    };
    const run = await startLogin(t, (token) => token.startsWith('token-'), { ensure }, { live: true });
    const live = await eventually('the live view', () => /Live view: (http:\S+)/.exec(run.output())?.[1], 60_000);
    const connected = /^socketio_capacity_connections\{[^}]*\} (\d+)$/m;
    await eventually(
      '10 connections in the metrics',
      async () => connected.exec(await (await fetch(`${live}metrics`)).text())?.[1] === '10',
      60_000,
    );
    const { thresholds, samples, verdict, delivery, latency } = await goodResult(run);
    assert.equal(delivery?.coverage, 1);
    assert.ok(latency.sentinelMs && latency.roundTripHalfMs.single?.count === 2);

    const folder = join(run.directory, 'results/latest');
    const read = (name: string) => readFileSync(join(folder, name), 'utf8');
    const reports = REPORT_FILES.map(([name]) => name);
    assert.deepEqual(readdirSync(folder).sort(), [...reports, 'artillery.log', 'result.json'].sort());
    const [, named = ''] = run.output().split('Result: ');
    for (const name of reports) assert.ok(named.includes(name), name);
    assertEach(thresholds, ({ expression, met, strict, found }) => [expression, met, strict, found?.[0]?.value], [
      ['connections.failed < 1', true, true, 0],
      ['connections.peak > 100', false, false, 10],
    ]);
    // One test case stands for the verdict. It fails if a busy machine makes the run SUSPECT.
    const failures = verdict.status === 'VALID' ? 0 : 1;
    assert.match(read('junit.xml'), new RegExp(`tests="7" failures="${failures}" errors="0" skipped="1"`));
    assert.equal(read('samples.csv').trim().split('\n').length, 1 + samples.length);

    const kept = read('artillery.log');
    for (const part of ['Phase started: ', 'Summary report', 'vusers.created: ']) assert.ok(kept.includes(part), part);
    assert.doesNotMatch(run.output(), /vusers\.created|Phase started/);
    assert.match(run.output(), VERDICT);
    const lines = run.output().trimEnd().split('\n');
    assert.ok(
      lines.every(({ length }) => length <= 80),
      run.output(),
    );
    // The maximum number of lines depends on the number of findings, which depends on the machine.
    const maxLines = 35 + 5 * (run.result()?.findings.length ?? 0);
    assert.ok(lines.filter((line) => !LIVE.test(line)).length < maxLines, run.output());
  });

  it('a run uses the token that `before` fetched for users and for its own clients', async (t) => {
    const chat = await startChat(t, (io) => {
      io.use(({ handshake }, next) => next(handshake.auth.token === 'fetched' ? undefined : new Error('no token')));
      io.on('connection', (socket) => socket.on('say', (message) => io.emit('said', message)));
    });
    const login = await urlOf(
      t,
      createServer((_, response) => response.end('{"token":"fetched"}')),
    );
    const delivery = { event: 'said', id: '$.0.id', publish: { emit: ['say', { id: '$id' }], every: 0.1, count: 3 } };
    const flow = [{ connect: { auth: { token: '{{ token }}' } } }, { hold: true }];
    const script = quickScript({ target: chat.url }, { delivery }, {}, flow);
    const before = { flow: [{ get: { url: login, capture: { json: '$.token', as: 'token' } } }] };
    const result = await goodResult(startRun(t, { script: { ...script, before } }));
    assert.equal(result.connections.peak, 10);
    assert.partialDeepStrictEqual(result.delivery, {
      source: 'own event',
      publisher: 'run',
      expected: 30,
      received: 30,
    });
    assert.deepEqual([result.latency.from, result.latency.oneWayMs?.count], ['publisher', 30]);
  });

  it('a run counts the arrivals that Artillery skips, and prints no live line with --quiet', async (t) => {
    const { url: target, control } = await startApp(t);
    const ramp = { duration: 1, arrivalRate: 5, rampTo: 5, maxVusers: 6 };
    const phases = [ramp, { pause: 2 }, ramp, { pause: 2 }];
    const terminal = noTerminal === false;
    const run = startRun(t, {
      script: quickScript({ target, phases }, { control }),
      args: ['--quiet'],
      terminal,
    });
    assert.equal(await run.ended, EXIT_CODES.suspect, run.output());
    assert.doesNotMatch(run.output(), LIVE);
    const { connections, findings } = run.result() ?? assert.fail(run.output());
    assert.deepEqual([connections.skipped, connections.peak, connections.failed], [4, 6, 0]);
    assert.ok(findings.some(({ code }) => code === 'USERS_SKIPPED'));
    const missed = findings.find(({ code }) => code === 'TARGET_NOT_REACHED');
    assert.doesNotMatch(missed?.message ?? '', /after the ramp/, 'it does not wait for skipped arrivals');
  });

  it('a run measures the load even if the server refuses the run’s own clients', {
    skip: noTerminal,
  }, async (t) => {
    const env = { TERM: 'xterm', CI: '', NO_COLOR: '1', COLUMNS: String(COLUMNS) };
    const run = await startLogin(t, (token) => Number(token.split('-')[1]) < 10, {}, {}, { env, terminal: true });
    await run.ended;
    const result = run.result();
    assert.deepEqual(result && reasonsOfServer(result), ['CLIENTS_REFUSED'], run.output());
    assert.deepEqual([result?.delivery?.coverage, result?.latency.sentinelMs ?? null], [1, null]);

    const screen = new Screen(COLUMNS);
    let maxLines = 0;
    const stages = new Set<string>();
    // Writes the output to a simulated screen, update by update.
    for (const part of run.output().split(BACK_UP)) {
      screen.write(part + BACK_UP);
      const live = screen.lines().filter((line) => LIVE.test(line));
      maxLines = Math.max(maxLines, live.length);
      for (const line of live) stages.add(line.trim().split(' ')[0] ?? '');
    }
    assert.equal(maxLines, 1);
    for (const stage of ['baseline', 'ramp', 'plateau']) assert.ok(stages.has(stage), `${stage} in ${[...stages]}`);
    const left = screen.lines().join('\n');
    assert.doesNotMatch(left, LIVE);
    assert.match(left, VERDICT);
  });
});
