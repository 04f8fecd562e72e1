/** What a refusal of a connection says, by the answer to its HTTP request. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { httpFailure } from '../../../plugin/fleet/client/failure.ts';

test('a refusal has the words of a server, and not the page of a proxy', () => {
  const page = '<html>\n<head><title>503 Service Temporarily Unavailable</title></head>';
  const refusal = { status: 503, reason: 'Service Temporarily Unavailable' };
  assert.doesNotMatch(httpFailure({ ...refusal, body: page }).message, /</);
  assert.match(httpFailure({ ...refusal, body: '{"message":"full"}' }).message, /503.*"full"/);
});
