import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Result } from '../../../protocol/result/result.ts';
import { mismatches } from '../../../report/compare/comparability.ts';
import { renderConsole } from '../../../report/console/console.ts';
import { renderHtml } from '../../../report/html/report.ts';
import { renderMarkdown } from '../../../report/markdown/markdown.ts';
import { generatorHost, perfectResult } from '../../helpers/results.ts';

function resultOf(...shares: number[]): Result {
  return {
    ...perfectResult(),
    generators: shares.map((share, index) => generatorHost(`load-${index}`, { share, p50: 10 + index })),
  };
}

describe('several generator hosts', () => {
  it('are a line on the console, and a table behind it', () => {
    const text = renderConsole(resultOf(0.6, 0.4), { color: false, width: 160, verbose: true });
    assert.match(
      text,
      /Hosts +2 with 100 connections each, slowest load-1 \(latency p50 11\.0 ms\), clocks known to ± 0\.21 ms, all began within 3\.2 ms/,
    );
    assert.match(text, /Generator hosts\n +Host +Connections .*\n +load-0 +100 +60\.00 %/);
  });

  it('are a table in page and Markdown', () => {
    assert.match(renderHtml(resultOf(0.6, 0.4)), /Generator hosts[\s\S]*load-1/);
    assert.match(renderMarkdown(resultOf(0.6, 0.4)), /### Generator Hosts\n\n\| Host[\s\S]*\| load-1 /);
  });

  it('of other shares are another load; which host has which is not', () => {
    const differences = (a: Result, b: Result) => mismatches([[a], [b]]).map(({ name }) => name);
    assert.deepEqual(differences(resultOf(0.6, 0.4), resultOf(0.4, 0.6)), []);
    assert.deepEqual(differences(resultOf(0.6, 0.4), resultOf(0.5, 0.5)), ['shares of the generator hosts']);
    assert.deepEqual(differences(perfectResult(), resultOf(0.5, 0.5)), ['shares of the generator hosts']);
  });
});
