import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type MeasuredProcesses, processesLine } from '../../../protocol/result/server-schema.ts';
import { documentOf } from '../../helpers/findings.ts';
import { perfectResult } from '../../helpers/results.ts';
import { type Change, testCases } from '../../helpers/verdict.ts';

const MB = 1024 ** 2;
type Row = MeasuredProcesses['measured'][number];

function row(pid: number, changes: Partial<Row> = {}): Row {
  return { layer: 'worker', pid, command: 'node index.js', ports: [3000], role: 'listens', holds: true, ...changes };
}

function found(...measured: Row[]): MeasuredProcesses {
  return { port: 3000, unseen: null, measured, omitted: 0, notCounted: [] };
}

/** @param grewMb growth of the second process in MB; the first process grows by 20 MB */
const charged =
  (grewMb: number, second: Partial<Row>): Change =>
  (result) => {
    result.processes = found(row(20), row(21, { ports: [4000], role: 'apart', ...second }));
    result.workersOverTime = [20, grewMb].map((mb, index) => ({
      worker: `process ${20 + index}`,
      process: { t: [0, 1], rssBytes: [50 * MB, (50 + mb) * MB], cpuPercent: [null, 1] },
      eventLoop: null,
    }));
  };

describe('a measured process', () => {
  testCases([
    [
      'measured process without connections grows',
      charged(40, { holds: false }),
      'PROCESS_WITHOUT_CONNECTIONS',
      21,
      'port 4000',
      '40.0 MB',
    ],
    ['measured process without connections that hardly grows', charged(1, { holds: false })],
    ['measured process with connections', charged(40, { holds: true })],
    ['measured process with unknown connections', charged(40, { holds: null })],
    ['measured process of the proxy without connections', charged(40, { holds: false, layer: 'nginx' })],
  ]);
});

it('the report lists the first measured processes with their ports, and counts the remaining ones', () => {
  const notCounted = [{ pid: 9, command: 'node index.js', ports: null, why: 'began during the run' }];
  const all = { ...found(row(1), row(2), row(3, { ports: [] }), row(4)), omitted: 2, notCounted };
  const line =
    'measured: 1 node index.js (port 3000), 2 node index.js (port 3000), 3 node index.js, 3 more; not counted: 9 node index.js';
  assert.equal(processesLine(all), line);
  assert.equal(processesLine(found()), undefined);
});

it('a report on the user’s own server lists the measured processes once', () => {
  const result = perfectResult();
  result.run.profile = 'remote';
  result.processes = found(row(4711));
  const { answer, sections } = documentOf(result);
  const texts = answer.findings.flatMap(({ text }) => text ?? []);
  assert.equal(texts.filter((text) => text === 'measured: 4711 node index.js (port 3000)').length, 1);
  const section = sections.find(({ id }) => id === 'processes');
  assert.match(JSON.stringify(section?.blocks), /4711.*node index\.js.*3000.*listens/);
});
