import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Result } from '../../../protocol/result/result.ts';
import { compare } from '../../../report/compare/compare.ts';
import { renderComparison } from '../../../report/html/comparison.ts';
import { perfectResult } from '../../helpers/results.ts';

/** Three runs whose workers' slope is near `bytes`. */
function series(bytes: number): Result[] {
  return [-20, 0, 20].map((noise) => {
    const result = perfectResult();
    const line = result.memory.perConnectionBytes.workerPss;
    assert.ok(line);
    line.slope = bytes + noise;
    return result;
  });
}

it('names what is worse, first as a sum and then by figure', () => {
  const page = renderComparison(
    compare([
      { name: 'before', results: series(15_000) },
      { name: 'after', results: series(18_000) },
    ]),
  );
  assert.match(page, /class="verdict worse"/);
  assert.match(page, /B: worse in Workers PSS per connection</);
  assert.match(page, /Workers PSS per connection, KB<\/th><td[^>]*>14\.6<\/td><td[^>]*>17\.6<\/td><td[^>]*>\+20 %/);
  assert.match(page, /class="worse"><span aria-hidden="true">▼ <\/span>WORSE/);
});

it('says what else differs, and lets no text become markup', () => {
  const other = perfectResult();
  other.environment.kernel = '<img src=x>';
  const page = renderComparison(
    compare([
      { name: '<script>a</script>', results: [perfectResult()] },
      { name: 'b', results: [other] },
    ]),
  );
  assert.match(page, /1 conditions? differs?/);
  assert.match(page, /kernel<\/th>.*&lt;img src=x&gt;/);
  assert.equal(page.match(/<img/), null);
  assert.equal(page.match(/<script/g)?.length, 1);
  assert.doesNotMatch(page, /NaN|undefined/);
});
