/** Connections that were gone by the broadcasts are in no headline as held, and not forgotten in the coverage. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { renderConsole } from '../../../report/console/console.ts';
import { renderHtml } from '../../../report/html/report.ts';
import { perfectResult } from '../../helpers/results.ts';

const PLAIN = { color: false, width: 100, verbose: true };

it('a headline counts those that were alive through the broadcasts', () => {
  const result = perfectResult();
  Object.assign(result.connections, { peak: 5000, held: 2450 });
  Object.assign(result.delivery ?? {}, { coverageOfTarget: 0.49 });
  const text = renderConsole(result, PLAIN);
  assert.match(text, /2,450 connections held/);
  assert.match(text, /reached everybody still connected/);
  assert.match(text, /Coverage of target +49\.00 % +with those that were gone/);
  assert.match(renderHtml(result), /49\.00 % with those that were gone/);
});

it('a headline of a scenario in which nobody stays counts the peak', () => {
  const result = perfectResult();
  Object.assign(result.connections, { peak: 5000, held: null });
  Object.assign(result.delivery ?? {}, { coverageOfTarget: null });
  const text = renderConsole(result, PLAIN);
  assert.match(text, /at most 5,000 connections at the same time .*reached everybody still connected/s);
  assert.match(text, /5,000 of 5,000 at the peak/);
  assert.doesNotMatch(text, /Coverage of target|\bheld\b/);
  assert.match(renderHtml(result), /Connections at the peak/);
});
