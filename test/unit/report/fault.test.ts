import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Fault } from '../../../protocol/result/fault.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { connectionsBack } from '../../../report/charts/fault.ts';
import { renderConsole } from '../../../report/console/console.ts';
import { renderHtml } from '../../../report/html/report.ts';
import { renderMarkdown } from '../../../report/markdown/markdown.ts';
import { plannedFault } from '../../helpers/planned-fault.ts';
import { perfectResult } from '../../helpers/results.ts';

function stormy(changes: Partial<Fault> = {}): Result {
  return { ...perfectResult(), fault: plannedFault(changes) };
}

it('what a planned fault cost is in console, Markdown and HTML', () => {
  const result = stormy({ back: 490, notBack: { 'gave up': 10 }, backMs: { p50: 760, p99: null, all: null } });
  const texts = [
    renderConsole(result, { width: 400, color: false, verbose: true }),
    renderMarkdown(result),
    renderHtml(result),
  ];
  for (const text of texts) {
    assert.match(
      text,
      /a worker killed: 500 of 1,000 connections dropped, 98\.00 % back, 5\.00 % of the copies meanwhile missed/,
    );
    assert.match(text, /Not back[^\d]*10[^\d]*gave up 10/);
    assert.match(text, /Half of the dropped back after[^\d]*0\.76/);
    assert.match(text, /Peak attempts[^\d]*480/);
    assert.match(text, /CPU peak, Workers[^\d]*81/);
    assert.match(text, /Copies missed[^\d]*200/);
    assert.match(text, /it replaced w0/);
    assert.match(text, /w0 500 → 65, w1 500 → 925/);
  }
});

it('workers that hold nobody knows how many after it are not said to hold none', () => {
  const text = renderMarkdown(stormy({ perWorker: { before: { w0: 500, w1: 500 }, after: {} } }));
  assert.match(text, /it replaced w0/);
  assert.doesNotMatch(text, /w0 500/);
});

it('a fault that drops nobody says so', () => {
  const nothing = { stayed: 1000, dropped: 0, back: 0, notBack: {}, drops: 0, returns: 0, curve: [] };
  const result = stormy({ kind: 'restart-redis', ...nothing });
  assert.match(renderHtml(result), /Redis restarted: no connection dropped/);
  assert.equal(connectionsBack(result), null);
});

it('a command is named by its program', () => {
  const result = stormy({ kind: 'command', command: 'systemctl' });
  assert.match(renderConsole(result, { width: 400, color: false }), /command `systemctl`: 500 of/);
});

it('without a fault there is no section', () => {
  assert.doesNotMatch(renderHtml(perfectResult()), /Planned fault<\/h2>/);
  assert.doesNotMatch(renderConsole(perfectResult(), { width: 100, color: false }), /Planned fault/);
});
