import assert from 'node:assert/strict';
import { it } from 'node:test';
import { renderSamplesCsv } from '../../../report/render/csv.ts';
import { perfectResult } from '../../helpers/results.ts';

it('samples.csv has a row for each sample, and empty fields for what was not measured', () => {
  const samples = [
    { t: 0, connections: 0, worker: { rssBytes: 100 } },
    { t: 1.001, connections: 5, worker: { rssBytes: 200, cpuPercent: 0.5 }, system: { usedBytes: -1 } },
  ];
  assert.equal(
    renderSamplesCsv({ ...perfectResult(), samples }),
    't,connections,worker.rssBytes,worker.cpuPercent,system.usedBytes\n0,0,100,,\n1.001,5,200,0.5,-1\n',
  );
});

it('samples.csv of no samples is its head', () => {
  assert.equal(renderSamplesCsv({ ...perfectResult(), samples: [] }), 't,connections\n');
});

it('samples.csv quotes text, and lets none become a formula', () => {
  const samples = [{ t: 0, connections: 0, worker: '=HYPERLINK("x"),1', '@k': '-1+1' }];
  const [head, row] = renderSamplesCsv({ ...perfectResult(), samples }).split('\n');
  assert.equal(head, "t,connections,worker,'@k");
  assert.equal(row, '0,0,"\'=HYPERLINK(""x""),1",\'-1+1');
});
