import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Result } from '../../../protocol/result/result.ts';
import { connectionCost } from '../../../report/answer/cost.ts';
import { answerParts } from '../../../report/answer/sentence.ts';
import { perfectResult } from '../../helpers/results.ts';

/** The fixture with sockets of 12,000 bytes per connection. */
function withKernel(): Result {
  const result = perfectResult();
  const line = { slope: 12_000, low95: 11_900, high95: 12_100, r2: 1 };
  Object.assign(result.memory.perConnectionBytes, { kernelSlab: { ...line, naive: 12_000 } });
  Object.assign(result.memory.inService?.perConnectionBytes as object, { kernelSlab: line });
  return result;
}

describe('what a connection costs the deployment', () => {
  it('is its workers, its proxy, and three of the four ends of its sockets', () => {
    const cost = connectionCost(withKernel());
    assert.deepEqual(
      cost?.parts.map(({ title, inService }) => [title, inService]),
      [
        ['Workers', 18_140],
        ['nginx', 2000],
        ['kernel', 9000],
      ],
    );
    assert.equal(cost?.inService, 29_140);
    assert.equal(cost?.atRest, 15_000 + 2000 + 9000);
    const text = '28.5 KB per connection in service (workers 17.7, nginx 2.0, kernel 8.8)';
    assert.ok(answerParts(withKernel()).includes(text), String(answerParts(withKernel())));
  });

  it('has one of the two ends without a proxy, and no kernel where another machine has the other end', () => {
    const embedded = withKernel();
    embedded.run.profile = 'embedded';
    assert.equal(connectionCost(embedded)?.parts.at(-1)?.inService, 6000);
    embedded.run.profile = 'remote';
    assert.deepEqual(
      connectionCost(embedded)?.parts.map(({ title }) => title),
      ['Workers', 'nginx'],
    );
  });

  it('is not claimed where one of its parts has no line', () => {
    const result = withKernel();
    Object.assign(result.memory.perConnectionBytes.nginxPss as object, { doubt: 'curved' });
    assert.equal(connectionCost(result), null);
    const text = '14.6 KB each at rest, 17.7 KB in service (Workers PSS)';
    assert.ok(answerParts(result).includes(text), String(answerParts(result)));
  });

  it('is that at rest where nothing is known in service', () => {
    const result = withKernel();
    result.memory.inService = null;
    const text = '25.4 KB per connection at rest (workers 14.6, nginx 2.0, kernel 8.8)';
    assert.ok(answerParts(result).includes(text), String(answerParts(result)));
  });
});
