import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Result } from '../../../protocol/result/result.ts';
import { findMismatches } from '../../../report/compare/comparability.ts';
import { clientsOf } from '../../../report/figures/transports.ts';
import { perfectResult } from '../../helpers/results.ts';

function resultOf(transports: Result['connections']['transports'], engineOptions: object = {}): Result {
  const result = perfectResult();
  result.connections.transports = transports;
  result.environment.settings = { ...result.environment.settings, engineOptions };
  return result;
}

const counts = { configured: 'default', websocket: 0, upgraded: 4990, polling: 10 } as const;
const UPGRADED = resultOf({ ...counts, upgradeFailures: { http_400: 10 } });

const compressing = (asked: boolean, granted: number, byServer: boolean | null) => {
  const result = perfectResult();
  result.connections.compression = { asked, granted, byServer };
  return result;
};

const external = resultOf(null);
external.run.engine = 'socketio-v3';
const notKnown = perfectResult();
notKnown.connections.compression = null;

/** Results of older versions have only the options of the clients. */
const CLIENTS: [what: string, result: Result, clients: RegExp | null][] = [
  ['clients of older results', resultOf(null), /^WebSocket-only clients$/],
  ['polling clients of older results', resultOf(null, { transports: ['polling'] }), /^polling-only clients$/],
  ['clients of another engine', external, null],
  ['clients with unknown compression', notKnown, /^WebSocket-only clients$/],
  ['clients that do not ask for compression', compressing(false, 0, null), /^WebSocket-only clients$/],
];

describe('transport and compression', () => {
  for (const [what, result, clients] of CLIENTS) {
    it(`the report of transport and compression of ${what}: ${clients ? 'described' : 'unknown'}`, () => {
      const named = clientsOf(result);
      if (clients === null) assert.equal(named, null);
      else assert.match(named ?? '', clients);
    });
  }

  const ws = resultOf(null);
  Object.assign(ws.environment.settings, { transports: ['websocket'], engineOptions: {} });
  for (const [name, older, same, other, values] of [
    ['transports', resultOf(null), ws, UPGRADED, ['websocket', 'default']],
    ['compression', notKnown, compressing(false, 0, true), compressing(true, 5000, true), ['off', 'on']],
  ] as const) {
    it(`runs whose clients differ in ${name} count as different loads`, () => {
      const found = (result: Result) => findMismatches([[older], [result]]).filter((one) => one.name.includes(name));
      assert.deepEqual(found(same), []);
      assert.deepEqual(found(other), [{ aspect: 'load', name, values }]);
    });
  }
});
