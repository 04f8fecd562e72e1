import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEventName, PayloadCheck } from '../../../../plugin/fleet/light/in-place/payload-check.ts';

test('the light client parses payloads up to a rate, and checks only their last bytes above it', (t) => {
  t.mock.method(performance, 'now', () => 5000);
  const check = new PayloadCheck((payload) => (isEventName(payload[0]) ? payload : undefined));
  const passes = (json: string) => {
    const bytes = Buffer.from(json);
    return check.check(bytes, 0, bytes.length) !== 'invalid';
  };
  const large = (index: number) => `["name",${index},"${'x'.repeat(1_000_000)}"]`;
  assert.equal(passes('["name",{bad}]'), false);
  for (let index = 0; index < 8; index++) assert.equal(passes(large(index)), true);
  assert.equal(passes(' ["name",{bad}] '), true, 'it is over the rate');
  assert.equal(passes('["name",{bad}'), false, 'its end is missing');
});
