import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requireFittingPayload } from '../../../plugin/run/target/payload-limit.ts';

const server = (maxHttpBufferSize: string) => ({
  worker: 'w1',
  server: { kind: 'own' as const, tunings: {}, options: { maxHttpBufferSize } },
});

test('a payload that the probe could not send back is refused, with the limit of the server', () => {
  const refused = /broadcasts\.bytes: .* 4000000 bytes back, and w1 takes messages of at most 1000000/;
  const workers = [server('10000000'), server('1000000')];
  assert.throws(() => requireFittingPayload({ bytes: 4_000_000, binary: false }, workers), {
    code: 'CONFIG_INVALID',
    message: refused,
  });
});

test('text needs room for its envelope, an attachment has none', () => {
  const workers = [server('1000000')];
  assert.throws(() => requireFittingPayload({ bytes: 1_000_000, binary: false }, workers));
  requireFittingPayload({ bytes: 1_000_000, binary: true }, workers);
  requireFittingPayload({ bytes: 999_000, binary: false }, workers);
});

test('a server that does not tell its limit, and a run without control ports, refuse nothing', () => {
  requireFittingPayload({ bytes: 4_000_000, binary: false }, [server('not set')]);
  requireFittingPayload({ bytes: 4_000_000, binary: false }, []);
});
