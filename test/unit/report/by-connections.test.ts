import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { latencyByConnections } from '../../../report/charts/by-connections.ts';
import { renderConsole } from '../../../report/console/console.ts';
import { renderHtml } from '../../../report/html/report.ts';
import { renderMarkdown } from '../../../report/markdown/markdown.ts';
import { perfectResult, summaryOf } from '../../helpers/results.ts';

function resultOf(...connections: number[]) {
  const result = perfectResult();
  result.latency.byConnections = connections.map((count, index) => ({
    ...{ connections: count, broadcasts: 6, expected: 6 * count, received: 6 * count - index, lost: index },
    oneWayMs: summaryOf(6 * count, count / 100),
    completionMs: summaryOf(6, count / 50),
  }));
  return result;
}

describe('latency against connections', () => {
  it('is a table on the console and in Markdown', () => {
    const text = renderConsole(resultOf(5000, 3750), { color: false, width: 160, verbose: true });
    assert.match(text, /Latency against connections \(ms\)\n +Connections .*\n +5,000 +6 +all +50\.0 +100 +800\n/);
    assert.match(text, /3,750 +6 +22,499 of 22,500 +37\.5 +75\.0 +600/);
    assert.match(
      renderMarkdown(resultOf(5000, 3750)),
      /### Latency vs Connections \(ms\)\n\n\| Connections[\s\S]*\| 3,750 /,
    );
  });

  it('is a chart with its table on the page', () => {
    const chart = latencyByConnections(resultOf(5000, 3750, 2500, 1250));
    assert.deepEqual(chart?.readout?.labels.at(-1), '5,000 connections');
    assert.deepEqual(
      chart?.readout?.series.map(({ values }) => values),
      [
        [25, 50, 75, 100],
        [12.5, 25, 37.5, 50],
      ],
    );
    assert.match(renderHtml(resultOf(5000, 3750)), /Latency against connections<\/figcaption>[\s\S]*3,750/);
  });

  it('is nowhere with all connections only', () => {
    assert.equal(latencyByConnections(perfectResult()), null);
    assert.doesNotMatch(renderHtml(perfectResult()), /Latency against connections/);
    assert.doesNotMatch(renderMarkdown(perfectResult()), /Latency vs Connections/);
  });
});
