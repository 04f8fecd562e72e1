import assert from 'node:assert/strict';
import { it } from 'node:test';
import { countAckError, mayCarryError } from '../../../plugin/fleet/client/ack-errors.ts';

function found(args: unknown[], secrets?: string[]) {
  const errors = {};
  countAckError(errors, args, { secrets: () => secrets });
  const bytes = Buffer.from(`17${JSON.stringify(args)}`);
  const [words] = Object.keys(errors);
  if (words !== undefined) assert.ok(mayCarryError(bytes, 2, bytes.length), words);
  return words;
}

it('an acknowledgement error is reported with the parts of the acknowledgement that mark it as an error', () => {
  assert.equal(found([{ error: 'full', id: 5, code: 'E1' }, 7]), '{"error":"full","code":"E1"}');
  assert.equal(found([{ status: 'error', message: 'no', data: 1 }]), '{"status":"error","message":"no"}');
  assert.equal(found([{ ok: false }]), '{"ok":false}');
  assert.equal(found([{}]), '{}');
});

it('does not count an acknowledgement without an error field as an error', () => {
  for (const args of [
    [],
    [null],
    ['error'],
    [{ error: null }],
    [{ errors: [] }],
    [{ ok: true }],
    [{ status: 'ok' }],
    [[]],
  ])
    assert.equal(found(args), undefined, JSON.stringify(args));
});

it('a reported acknowledgement error contains no secret of the connection', () => {
  assert.doesNotMatch(found([{ error: 'bad token abcdefgh1' }], ['abcdefgh1']) ?? '', /abcdefgh1/);
});

it('keeps 20 different acknowledgement errors, and counts the rest', () => {
  const errors: Record<string, number> = {};
  for (let id = 0; id < 50; id++) countAckError(errors, [{ error: `no ${id}` }]);
  assert.deepEqual([Object.keys(errors).length, errors['']], [21, 30]);
});
