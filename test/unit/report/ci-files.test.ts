import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { XMLParser } from 'fast-xml-parser';
import type { Result } from '../../../protocol/result/result.ts';
import { renderSamplesCsv } from '../../../report/render/csv.ts';
import { renderJunit } from '../../../report/render/junit.ts';
import { answered, finding, withFindings } from '../../helpers/findings.ts';
import { assertGolden } from '../../helpers/golden.ts';
import { perfectResult } from '../../helpers/results.ts';

type Case = Record<string, unknown>;

/**
 * Parses a test suite like a CI server.
 * @returns its cases, attributes, and counts: all, failed, in error, skipped
 */
function suiteOf(result: Result) {
  const parser = new XMLParser({ ignoreAttributes: false, attributeNamePrefix: '@', trimValues: false });
  const { testsuites } = parser.parse(renderJunit(result)) as { testsuites: { testsuite: Case } };
  const { testcase, ...suite } = testsuites.testsuite;
  const counts = ['tests', 'failures', 'errors', 'skipped'].map((name) => Number(suite[`@${name}`]));
  return { suite, counts, cases: [testcase].flat() as Case[] };
}

const thresholds = [
  { expression: 'connections.failed < 1', met: true, strict: true },
  {
    ...{ expression: 'socketio.broadcast.latency.p99 < 10', met: false, strict: true },
    found: [{ metric: 'socketio.broadcast.latency.p99', value: 12.9, unit: 'ms' }],
  },
  { expression: 'connections.rate > 900', met: false, strict: false },
];

describe('junit.xml', () => {
  it('junit.xml has a case for each threshold and for the measurement', (t) => {
    const late = finding('GENERATOR_LATE', '80 ms', { fix: 'add cores' });
    const results = [
      answered({ ...perfectResult(), thresholds }),
      withFindings(perfectResult(), late),
      withFindings({ ...perfectResult(), thresholds }, finding('MEMBERS_DISAGREE')),
    ];
    assertGolden(t, 'junit.txt', results.map(renderJunit).join('\n'));
  });

  it('junit.xml starts with the first finding, even if it is only informational', () => {
    const [leak, busy] = [finding('BROADCASTS_DELAYED', '2 took 2.0 s'), finding('MACHINE_SATURATED')];
    const { cases, counts } = suiteOf(withFindings(perfectResult(), leak, busy));
    assert.equal(cases[0]?.['@name'], 'BROADCASTS_DELAYED');
    assert.partialDeepStrictEqual(cases[0]?.skipped, { '@message': '2 took 2.0 s' });
    assert.equal(cases[1]?.['@name'], 'measurement is VALID');
    assert.deepEqual(counts.slice(1), [1, 0, 1]);
    const failing = suiteOf(withFindings(perfectResult(), finding('COPIES_LOST'), busy)).cases;
    assert.equal(failing[0]?.['@name'], 'every member receives every broadcast');
  });

  it('junit.xml escapes markup and characters that XML does not allow', () => {
    const nasty = '"><failure/>&\u0000\u001b[31m]]>';
    const result = perfectResult();
    result.run.scenario = nasty;
    result.findings = [finding('GENERATOR_LATE', nasty)];
    const { suite, cases } = suiteOf(
      answered({ ...result, thresholds: [{ expression: nasty, met: true, strict: true }] }),
    );
    assert.equal(suite['@name'], 'socketio-capacity: "><failure/>&[31m]]>');
    assert.equal(cases.length, 8);
    assert.ok(!cases.slice(1).some((one) => 'failure' in one));
  });
});

it('samples.csv has a row for each sample, and empty fields for unmeasured figures', () => {
  const samples = [
    { t: 0, connections: 0, worker: { rssBytes: 100 } },
    { t: 1.001, connections: 5, worker: { rssBytes: 200, cpuPercent: 0.5 }, system: { usedBytes: -1 } },
  ];
  assert.equal(
    renderSamplesCsv({ ...perfectResult(), samples }),
    't,connections,worker.rssBytes,worker.cpuPercent,system.usedBytes\n0,0,100,,\n1.001,5,200,0.5,-1\n',
  );
});

it('samples.csv limits the number of columns', () => {
  const samples = Array.from({ length: 500 }, (_, row) => ({ t: row, connections: 0, [`name ${row}`]: row }));
  const lines = renderSamplesCsv({ ...perfectResult(), samples }).split('\n');
  assert.ok((lines[0] ?? '').split(',').length < samples.length);
  assert.equal(lines.length, samples.length + 2);
});

it('samples.csv quotes text, and keeps it from becoming a formula', () => {
  const samples = [{ t: 0, connections: 0, worker: '=HYPERLINK("x"),1', '@k': '-1+1' }];
  const [head, row] = renderSamplesCsv({ ...perfectResult(), samples }).split('\n');
  assert.equal(head, "t,connections,worker,'@k");
  assert.equal(row, '0,0,"\'=HYPERLINK(""x""),1",\'-1+1');
});
