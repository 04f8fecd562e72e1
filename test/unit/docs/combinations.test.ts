import assert from 'node:assert/strict';
import { it } from 'node:test';
import { adapterStudy } from '../../../docs/studies/adapters.data.ts';
import { stormStudy } from '../../../docs/studies/storms.data.ts';
import { transportStudy } from '../../../docs/studies/transports.data.ts';
import { plannedFault } from '../../helpers/planned-fault.ts';
import { perfectResult } from '../../helpers/results.ts';
import { measuredStudy } from '../../helpers/studies.ts';

const rowsOf = (table: string) => table.split('<tr').slice(2);

it('the page on adapters has a row for each combination, also for those without a run', () => {
  const plan = {
    scenario: '1k.yml',
    vary: { CAPACITY_ADAPTER: ['redis', 'redis-streams'], workers: [2, 4], HOLD: [3] },
    except: [{ CAPACITY_ADAPTER: 'redis', workers: 4 }],
  };
  const levels = { CAPACITY_ADAPTER: 'redis', workers: 2, HOLD: 3 };
  const measured = measuredStudy('adapters', plan, [{ levels, result: perfectResult() }]);
  const { table, holes, circumstances, full } = adapterStudy('adapters', measured);
  const rows = rowsOf(table);
  assert.equal(rows.length, 3);
  assert.match(rows[0] ?? '', />redis<.*>2<.*>VALID</s);
  assert.match(rows[0] ?? '', />2\.2</, 'bytes that Redis sent per copy');
  assert.match(rows[1] ?? '', />redis-streams<.*>2<.*>no run</s);
  assert.match(table, /Redis sent per copy, bytes/);
  assert.doesNotMatch(table, /Stream entries|HOLD/, 'what nobody measured or varied');
  assert.equal(holes.length, 2);
  assert.match(circumstances.join(' '), /Redis 7\.0\.15; /);
  assert.equal(full, '/studies/adapters/study.html');
});

it('the page on transports has what a connect costs each layer', () => {
  const plan = { scenario: '1k.yml', vary: { TRANSPORTS: ['websocket', 'default'] } };
  const runs = ['websocket', 'default'].map((TRANSPORTS) => ({ levels: { TRANSPORTS }, result: perfectResult() }));
  const { table, holes } = transportStudy('transports', measuredStudy('transports', plan, runs));
  assert.match(table, /Transports<.*nginx’ CPU per 1,000 connects, s/s);
  assert.match(rowsOf(table)[1] ?? '', />default<.*>VALID</s);
  assert.deepEqual(holes, []);
});

it('the page on transports answers what each kind of client costs, against the first', () => {
  const plan = { scenario: '1k.yml', vary: { TRANSPORTS: ['websocket', 'default'], TLS: ['off', 'on'] } };
  const [plain, dear] = [perfectResult(), perfectResult()];
  for (const layer of ['worker', 'nginx']) {
    const [one, other] = [plain.cpu[layer], dear.cpu[layer]];
    if (!one || !other) throw new Error(`no CPU of ${layer}`);
    [one.rampSecondsPerThousandConnects, other.rampSecondsPerThousandConnects] = [0.5, 1.25];
  }
  const runs = [
    { levels: { TRANSPORTS: 'websocket', TLS: 'off' }, result: plain },
    { levels: { TRANSPORTS: 'default', TLS: 'on' }, result: dear },
  ];
  const { answer, chart } = transportStudy('transports', measuredStudy('transports', plan, runs));
  assert.match(
    answer[0] ?? '',
    /take, with WebSocket only: 1\.00 s of CPU per 1,000 connects, .* KB per connection\.$/,
  );
  assert.match(
    answer[1] ?? '',
    /^With polling, then WebSocket over TLS: 2\.50 s of CPU per 1,000 connects \(2\.50 ×\), /,
  );
  assert.equal(answer.length, 2, 'nothing is said of combinations without a run');
  assert.match(chart, />2,500</);
});

it('the page on storms has the time until all are back, and the copies that were missed', () => {
  const plan = { scenario: 'storm-reload.yml', vary: { 'fault.kind': ['kill-worker', 'reload-nginx'] } };
  const fault = plannedFault();
  const runs = [{ levels: { 'fault.kind': 'kill-worker' }, result: { ...perfectResult(), fault } }];
  const { table } = stormStudy(measuredStudy('storms', plan, runs));
  assert.match(table, /All back, ms.*Copies missed/s);
  assert.ok(rowsOf(table)[0]?.includes(`>${(fault.broadcasts?.missed ?? 0).toLocaleString('en')}<`));
  assert.match(rowsOf(table)[1] ?? '', />reload-nginx<.*>no run</s);
});

it('the page on storms answers what a fault costs, and what recovery and jitter change', () => {
  const plan = {
    scenario: 'storm-reload.yml',
    vary: {
      'fault.kind': ['reload-workers', 'reload-nginx'],
      CAPACITY_RECOVERY_SECONDS: [0, 120],
      'engine.reconnection.jitter': [0.5, 0],
    },
  };
  const fault = plannedFault();
  const none = { ...fault, dropped: 0, broadcasts: fault.broadcasts && { ...fault.broadcasts, missed: 0 } };
  const restored = { ...none, dropped: 510, recovered: 510 };
  const runs = [
    { recovery: 0, jitter: 0.5, kind: 'reload-workers', fault },
    { recovery: 120, jitter: 0.5, kind: 'reload-workers', fault: restored },
    { recovery: 0, jitter: 0, kind: 'reload-workers', fault: { ...fault, backMs: { ...fault.backMs, p50: 9876 } } },
    { recovery: 0, jitter: 0.5, kind: 'reload-nginx', fault: none },
  ].map(({ kind, recovery, jitter, fault }) => ({
    levels: { 'fault.kind': kind, CAPACITY_RECOVERY_SECONDS: recovery, 'engine.reconnection.jitter': jitter },
    result: { ...perfectResult(), fault },
  }));
  const { answer, back, missed } = stormStudy(measuredStudy('storms', plan, runs));
  const halfBack = ((fault.backMs.p50 ?? 0) / 1000).toFixed(1);
  assert.match(
    answer[0] ?? '',
    new RegExp(`^reload-workers dropped \\d+ of .*Half of them were back after ${halfBack} s`),
  );
  assert.equal(answer[1], 'reload-nginx dropped no connection, and no copy was missed.');
  assert.match(
    answer[2] ?? '',
    /^With connection state recovery, 0 instead of [\d,]+ copies were missed after reload-workers\.$/,
  );
  assert.equal(answer[3], `Without jitter, half were back after 9.9 s instead of ${halfBack} s after reload-workers.`);
  assert.match(back, /reload-workers, recovery/);
  assert.match(missed, /reload-workers, no jitter/);
  assert.doesNotMatch(missed, /reload-nginx/);
});

it('without a run, it says so', () => {
  assert.match(adapterStudy('adapters', undefined).table, /has not been run yet/);
});
