import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Result } from '../../../protocol/result/result.ts';
import { mismatches } from '../../../report/compare/comparability.ts';
import { renderHtml } from '../../../report/html/report.ts';
import { renderMarkdown } from '../../../report/markdown/markdown.ts';
import { clientsOf, transportNote } from '../../../report/transports.ts';
import { perfectResult } from '../../helpers/results.ts';

function resultOf(transports: Result['connections']['transports'], engineOptions: object = {}): Result {
  const result = perfectResult();
  result.connections.transports = transports;
  result.environment.settings = { ...result.environment.settings, engineOptions };
  return result;
}

const UPGRADED = resultOf({
  configured: 'default',
  websocket: 0,
  upgraded: 4990,
  polling: 10,
  upgradeFailures: { http_400: 10 },
});

describe('the transports', () => {
  it('are named in every report', () => {
    assert.equal(clientsOf(UPGRADED), 'default clients: polling, then WebSocket');
    assert.equal(
      transportNote(UPGRADED),
      '4,990 connections upgraded, 10 stayed on polling, 0 began with WebSocket; failed upgrades: http_400 10',
    );
    assert.match(renderMarkdown(UPGRADED), /\*\*Clients\*\* +\| default clients: polling, then WebSocket/);
    const html = renderHtml(UPGRADED);
    assert.match(html, /made at 499 per second.*; default clients: polling, then WebSocket/);
    assert.match(html, /Stayed on polling<\/th><td[^>]*>10</);
    assert.match(renderMarkdown(resultOf(null)), /WebSocket-only clients/);
  });

  it('of older results follow from their options; those of another engine are not known', () => {
    assert.equal(clientsOf(resultOf(null)), 'WebSocket-only clients');
    assert.equal(clientsOf(resultOf(null, { transports: ['polling'] })), 'polling-only clients');
    const external = resultOf(null);
    external.run.engine = 'socketio-v3';
    assert.equal(clientsOf(external), null);
    assert.equal(transportNote(external), null);
  });

  it('are a different load where two results differ in them', () => {
    const older = resultOf(null);
    const current = perfectResult();
    current.environment.settings.transports = ['websocket'];
    current.environment.settings.engineOptions = {};
    const named = (other: Result) => mismatches([[older], [other]]).filter(({ name }) => name.includes('transports'));
    assert.deepEqual(named(current), []);
    assert.deepEqual(named(UPGRADED), [{ aspect: 'load', name: 'transports', values: ['websocket', 'default'] }]);
  });
});
