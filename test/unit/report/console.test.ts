import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { type Result, resultSchema } from '../../../protocol/result/result.ts';
import { renderAnswer, renderConsole } from '../../../report/console/console.ts';
import { perfectBatch, perfectResult, resultWithMessages } from '../../helpers/results.ts';

function render(result: Result, width = 100): string {
  return renderConsole(resultSchema.parse(result), { color: false, width, verbose: true });
}

/** Compares with test/fixtures/console-<name>.txt; `UPDATE_GOLDEN=1` writes it. */
function assertGolden(name: string, text: string): void {
  const file = new URL(`../../fixtures/console-${name}.txt`, import.meta.url);
  if (process.env.UPDATE_GOLDEN) writeFileSync(file, `${text}\n`);
  assert.equal(`${text}\n`, readFileSync(file, 'utf8'));
}

/** Loses receipts in batch 7 of 120, has one duplicate in batch 90, two reordered in batch 95, and a server that counts one more in batch 100. */
function imperfectResult(): Result {
  const result = perfectResult();
  const batches = Array.from({ length: 120 }, (_, index) => perfectBatch(index + 1, 5000));
  Object.assign(batches[6] as object, { received: 4999, lostConnected: 1 });
  Object.assign(batches[89] as object, { duplicates: 1 });
  Object.assign(batches[94] as object, { reordered: 2 });
  Object.assign(batches[99] as object, { serverMembers: 5001 });
  Object.assign(result.delivery as object, {
    broadcasts: 120,
    expected: 600_000,
    received: 599_999,
    lostConnected: 1,
    duplicates: 1,
    reordered: 2,
    coverage: 599_999 / 600_000,
    batches,
  });
  Object.assign(result.machine as object, { swappedOutBytes: 3 * 1024 ** 2 });
  result.sampling = { intervalMs: 1000, taken: 110, missed: 10, longestGapMs: 4012, failures: { redis: 4 } };
  result.connections.failed = 3;
  result.connections.failures = { http_502: 1, ECONNREFUSED: 2 };
  result.connections.failureExamples = { http_502: 'the server answered 502 Bad Gateway, <html>no worker</html>' };
  const message =
    'the generator was busy for 91 % of the time, so that latencies may be its own and not those of the server';
  result.verdict = { status: 'SUSPECT', reasons: [{ code: 'GENERATOR_BUSY', message, fix: 'use another machine' }] };
  return result;
}

/** What a run with a stock engine that was interrupted early leaves. */
function earlyResult(): Result {
  const result = perfectResult();
  result.run = { ...result.run, profile: 'embedded', engine: 'socketio-v3', complete: false };
  result.connections.transports = null;
  result.verdict = { status: 'INVALID', reasons: [{ code: 'ABORTED', message: 'interrupted by SIGINT' }] };
  result.delivery = null;
  result.latency = {
    from: 'server',
    oneWayMs: null,
    localMs: null,
    crossWorkerMs: null,
    completionMs: null,
    intervals: null,
    slowFirst: null,
    byConnections: [],
    sendDelayMs: null,
    sentinelMs: null,
    behindSentinelMs: null,
    roundTripHalfMs: { underLoad: null, single: null },
    clocks: [],
    histograms: {},
  };
  result.memory.plateaus = result.memory.plateaus.slice(0, 2);
  result.memory.residualBytes = {};
  result.connections = {
    ...result.connections,
    peak: 1250,
    connectMs: null,
    achievedRatePerSec: null,
    rampSeconds: null,
  };
  result.cpu = {};
  return result;
}

test('a perfect run', () => {
  assertGolden('perfect', render(perfectResult()));
});

test('an imperfect run shows every imperfect batch, first', () => {
  const text = render(imperfectResult());
  assertGolden('imperfect', text);
  const batches = text.split('\n').filter((line) => /^ {2}\d+ {2,}.*\d %/.test(line));
  assert.deepEqual(
    batches.map((line) => Number(line.trim().split(/\s+/)[0])),
    [7, 90, 95, 100, 1, 2, 3, 4, 5, 6],
  );
  assert.match(text, /… 110 more, all 100 %/);
});

test('an interrupted run of a stock engine claims nothing', () => {
  const text = render(earlyResult(), 80);
  assertGolden('early', text);
  assert.match(text, /^INCOMPLETE.*\n? *.*EMBEDDED PROFILE/);
  assert.match(
    text,
    /^No result: this measurement cannot be trusted\n {2}Measurement: INVALID, for the reasons above$/m,
  );
  assert.match(text, /Not measured: this engine does not report which broadcasts arrive/);
  for (const quotable of ['held', 'KB each', 'Capacity', 'Memory per connection', 'NaN', 'null', 'undefined']) {
    assert.ok(!text.includes(quotable), quotable);
  }
});

test('100 % means all', () => {
  const text = render(imperfectResult());
  assert.match(text, /Coverage +99\.99 %/);
  assert.match(text, /119 of 120 broadcasts reached everybody \(99\.99 %\)/);
  const batch = text.split('\n').find((line) => /^ {2}7 /.test(line));
  assert.match(batch ?? '', /99\.98 %/);
});

test('more than ten imperfect batches are all shown', () => {
  const result = imperfectResult();
  for (const batch of result.delivery?.batches.slice(0, 25) ?? [])
    Object.assign(batch, { received: 4000, lostConnected: 1000 });
  const shown = render(result).match(/^ {2}\d+ .*80\.00 %/gm);
  assert.equal(shown?.length, 25);
});

test('two plateaus give a slope without an interval', () => {
  const result = perfectResult();
  Object.assign(result.memory.perConnectionBytes.workerPss as object, { low95: null, high95: null });
  Object.assign(result.capacity.memoryLimited as object, { low95: null, high95: null });
  const text = render(result);
  assert.match(text, /Workers PSS +14\.6 +– /);
  assert.match(text, /no interval/);
});

test('a line that may not be quoted is in no headline, gives no capacity, and is named with the reason', () => {
  const result = perfectResult();
  result.capacity.memoryLimited = null;
  Object.assign(result.memory.perConnectionBytes.workerPss as object, { doubt: 'curved' });
  const text = render(result);
  assert.match(text, /^ *no memory per connection \(Workers PSS: not a straight line\)/m);
  assert.doesNotMatch(text, /KB each/);
  assert.match(text, /Not to be quoted: Workers PSS: not a straight line\./);
  assert.match(text, /Fit in the memory budget +– +the workers' memory: not a straight line/);
});

test('memory in service is quoted only where it has a line of its own', () => {
  const result = perfectResult();
  Object.assign(result.memory.inService?.perConnectionBytes.workerPss as object, { doubt: 'wide' });
  assert.match(render(result), /16\.6 KB per connection at rest \(workers 14\.6, nginx 2\.0\)/);
});

test('the whole machine is shown only where it is more than its noise', () => {
  const result = perfectResult();
  assert.match(render(result), /^ {2}Whole machine +29\.3/m);
  Object.assign(result.memory.perConnectionBytes.systemUsed as object, { doubt: 'noRise' });
  const text = render(result);
  assert.doesNotMatch(text, /^ {2}Whole machine|Whole machine$/m);
  assert.match(text, /Not to be quoted: Whole machine: no rise beyond its noise\./);
});

test('the summary is about 20 lines, ends with the answer, and has no tables unless asked for', () => {
  for (const result of [perfectResult(), imperfectResult(), resultWithMessages()]) {
    const lines = renderConsole(result, { color: false, width: 100, files: 'Result: result.json' }).split('\n');
    assert.ok(lines.length <= (result.verdict.reasons.length > 0 ? 29 : 22), String(lines.length));
    assert.match(lines.at(-1) ?? '', /^ {2}Measurement: /);
    assert.ok(!lines.some((line) => /^Batch|^Latency \(ms\)/.test(line)));
  }
});

test('what failed stands above everything else of the answer', () => {
  const text = renderAnswer(imperfectResult(), { color: false, width: 100 });
  assert.match(
    text,
    /^Failed: 3 connections failed \(ECONNREFUSED 2, http_502 1\), threshold 0; delivery 99\.99 % of\s+members,\s+threshold\s+100 %;/m,
  );
});

test('colour only when asked for, and then the same text', () => {
  const result = imperfectResult();
  const plain = render(result);
  const colored = renderConsole(result, { color: true, width: 100, verbose: true });
  assert.equal(stripVTControlCharacters(plain), plain);
  assert.notEqual(colored, plain);
  assert.equal(stripVTControlCharacters(colored), plain);
});

test('messages of clients have a table of their own, and their cost is in the place of the idle CPU', () => {
  const text = render(resultWithMessages());
  assert.match(text, /^ {2}all messages of clients acknowledged, p95 8\.75 ms$/m);
  const section = text.slice(text.indexOf('Messages of clients\n'), text.indexOf('Message performance'));
  assert.match(section, /Due +120,000 {2}on 5,000 connections/);
  assert.match(section, /Rate in the hold +5,000\.0 {2}messages\/s, 750,000 events\/s, over 10 s/);
  assert.match(section, /To acknowledgement +50,000 +3\.85 +3\.50 +8\.75/);
  assert.match(section, /worker-1 +25,000 +0\.012 +0\.031 +2\.40 +0\.10 +4\.20 +18\.0/);
  assert.match(section, /Every 1 s, each connection sends "event_batch" of 150 events, to be acknowledged\./);
  assert.match(text, /µs per client message +µs per message\n +Workers +0\.520 +42\.5 +11\.4/);
  assert.ok(!render(perfectResult()).includes('Messages of clients'));
});

test('a narrow terminal gets fewer columns and wrapped sentences', () => {
  const narrow = [imperfectResult(), resultWithMessages()].flatMap((one) => render(one, 72).split('\n').slice(1));
  for (const line of narrow) {
    // Two-column measurements are not wrapped; they are short of themselves.
    assert.ok(line.length <= 80, `${line.length}: ${line}`);
  }
});

/** Notes are wrapped where they happen to reach the edge. */
function unwrapped(result: Result): string {
  return render(result).replaceAll(/\s+/g, ' ');
}

test('workers with clocks of their own are named, with what is left of the difference', () => {
  const result = perfectResult();
  result.latency.clocks = [
    { worker: 'w0', offsetUs: 0, uncertaintyUs: 0, driftUs: 0, jumpUs: 0 },
    { worker: 'w1', offsetUs: 4e9, uncertaintyUs: 140, driftUs: 3, jumpUs: 2000 },
  ];
  assert.match(unwrapped(result), /1 of 2 workers use a different clock from the generator; .* ± 0\.14 ms \(w1\)/);
  assert.match(unwrapped(result), /The clock of w1 jumped by up to 2\.00 ms/);
});

test('a whole machine that moved more than all layers together is no check on them', () => {
  const result = perfectResult();
  assert.ok(result.memory.sum);
  result.memory.sum.systemHigh95 = 99_000;
  assert.match(unwrapped(result), /varied too much for a comparison/);
});

test('several servers are named with their clients; of one, there is nothing to say', () => {
  const result = perfectResult();
  result.connections.perServer = { chat: 5001 };
  assert.doesNotMatch(render(result), /Servers/);
  result.connections.perServer = Object.fromEntries(Array.from({ length: 8 }, (_, n) => [`chat-${n}`, 600 + n]));
  assert.match(render(result, 200), /Servers +8 +clients by their admin UI: chat-0 600, .*chat-5 605, 2 more\n/);
});
