import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Result } from '../../../protocol/result/result.ts';
import { mismatches } from '../../../report/compare/comparability.ts';
import { clientsOf } from '../../../report/figures/transports.ts';
import { fullText } from '../../helpers/report-text.ts';
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
    assert.match(fullText(UPGRADED), /held \(.*; default clients: polling, then WebSocket\)/);
    assert.match(fullText(UPGRADED), /Stayed on polling +10\b[\s\S]*Failed upgrades +10 +http_400 10/);
    assert.match(fullText(resultOf(null)), /WebSocket-only clients/);
  });

  it('and compression are named in the same places, wherever there was any', () => {
    const cases: [Result['connections']['compression'], RegExp][] = [
      [null, /^WebSocket-only clients$/],
      [{ asked: false, granted: 0, byServer: null }, /^WebSocket-only clients$/],
      [{ asked: false, granted: 0, byServer: false }, /^WebSocket-only clients$/],
      [{ asked: false, granted: 0, byServer: true }, /, without the compression that this server gives to browsers$/],
      [{ asked: true, granted: 5000, byServer: true }, /, compressed$/],
      [{ asked: true, granted: 0, byServer: false }, /, which asked for compression in vain$/],
    ];
    for (const [compression, text] of cases) {
      const result = perfectResult();
      result.connections.compression = compression;
      assert.match(clientsOf(result) ?? '', text);
      assert.ok(fullText(result).includes(`; ${clientsOf(result)})`));
    }
    const partly = perfectResult();
    partly.connections.compression = { asked: true, granted: 4000, byServer: true };
    assert.match(fullText(partly), /Compressed +4,000\b/);
  });

  it('and compression are a different load where two results differ in them', () => {
    const [older, plain, compressed] = [perfectResult(), perfectResult(), perfectResult()];
    older.connections.compression = null;
    plain.connections.compression = { asked: false, granted: 0, byServer: true };
    compressed.connections.compression = { asked: true, granted: 5000, byServer: true };
    const named = (other: Result) => mismatches([[older], [other]]).filter(({ name }) => name.includes('compression'));
    assert.deepEqual(named(plain), []);
    assert.deepEqual(named(compressed), [{ aspect: 'load', name: 'compression', values: ['off', 'on'] }]);
  });

  it('of older results follow from their options; those of another engine are not known', () => {
    assert.equal(clientsOf(resultOf(null)), 'WebSocket-only clients');
    assert.equal(clientsOf(resultOf(null, { transports: ['polling'] })), 'polling-only clients');
    const external = resultOf(null);
    external.run.engine = 'socketio-v3';
    assert.equal(clientsOf(external), null);
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
