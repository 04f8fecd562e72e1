import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CpuCodePlaces, MemoryCodePlaces } from '../../../protocol/result/places-schema.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { memoryCodePlacesLine } from '../../../report/answer/memory-line.ts';
import { compareSets } from '../../../report/compare/compare.ts';
import { comparisonDocument } from '../../../report/compare/compare-page.ts';
import { renderConsole } from '../../../report/render/console.ts';
import { renderHtml } from '../../../report/render/html.ts';
import { renderMarkdown } from '../../../report/render/markdown.ts';
import { runDocument } from '../../../report/sections/run-document.ts';
import { perfectResult } from '../../helpers/results.ts';
import { run, setOf } from '../../helpers/run-sets.ts';

const KB = 1024;
const OF_SESSION = { name: 'keep', place: 'session.ts:88', package: 'application' };

function kept(keepKb: number, place = OF_SESSION.place): MemoryCodePlaces {
  const [halfWidth95, others] = [0.2 * KB, { name: 'Socket', place: 'node_modules/ws/index.js:5', package: 'ws' }];
  return {
    connections: 400,
    growthBytes: (keepKb + 6) * KB,
    packages: [
      { name: 'application', bytes: keepKb * KB, halfWidth95 },
      { name: 'ws', bytes: 5 * KB, halfWidth95 },
    ],
    functions: [
      { ...OF_SESSION, place, bytes: keepKb * KB, halfWidth95 },
      { ...others, bytes: 5 * KB, halfWidth95 },
    ],
    unattributedBytes: KB,
  };
}

function used(us: number): CpuCodePlaces {
  const row = { us: 0.8 * us, halfWidth95: 0.02 * us };
  const packages = [{ name: 'application', ...row }];
  return { units: 200, us, packages, functions: [{ ...OF_SESSION, ...row }], unattributedUs: 0.2 * us, busyShare: 0.4 };
}

const withPlaces = (memory: MemoryCodePlaces, cpuByPlace?: Result['cpuByPlace']) =>
  run((one) => {
    one.memory.places = memory;
    one.cpuByPlace = cpuByPlace;
  });

describe('places', () => {
  const result = perfectResult();
  result.memory.places = kept(8);
  result.cpuByPlace = { connect: used(2000), absent: 'the process ended' };
  const document = runDocument(result);

  it('the allocation sites in an answer add up to the total, including unattributed memory', () => {
    const [line] = memoryCodePlacesLine(result);
    assert.match(
      line?.text ?? '',
      /of the 14\.0 KB .*: application 8\.0 \(.* 8\.0\), ws 5\.0, others 0\.0, not attributed 1\.0$/,
    );
    const whole = { ...kept(8), growthBytes: 13 * KB, unattributedBytes: 0 };
    const [other] = memoryCodePlacesLine(withPlaces(whole));
    assert.match(other?.text ?? '', /ws 5\.0, others 0\.0$/);
  });

  it('a report shows allocation sites as bars and rows', () => {
    const page = renderHtml(document);
    assert.match(page, /What a connection keeps, by package, in KB/);
    assert.match(page, /CPU of a connect, by package, in ms/);
    for (const text of [renderMarkdown(document), renderConsole(document, { color: false, width: 200 })]) {
      assert.match(text, /keep +\|? *session\.ts:88 +\|? *8\.0 ± /);
      assert.match(text, /not attributed +\|? *1\.0/);
      assert.match(text, /keep +\|? *session\.ts:88 +\|? *1\.60 ± /);
      assert.match(text, /CPU by place not measured per copy: the process ended/);
    }
  });
});

describe('two runs', () => {
  const textOf = (a: Result, b: Result) =>
    renderConsole(comparisonDocument(compareSets([setOf(a), setOf(b)])), { color: false, width: 1000 });

  it('a comparison lists functions that retain more memory or use more CPU, even if their lines moved', () => {
    const text = textOf(
      withPlaces(kept(8), { connect: used(2000) }),
      withPlaces(kept(11.1, 'session.ts:93'), { connect: used(1000) }),
    );
    assert.match(text, /B against A, per connection: \+3\.1 KB in session\.ts:93 \(keep\)\n/);
    assert.match(text, /B against A, per connect: −0\.800 ms in session\.ts:88 \(keep\)\n/);
  });

  it('a comparison ignores functions that differ by less than the sampling error, or occur in one run', () => {
    assert.doesNotMatch(textOf(withPlaces(kept(8)), withPlaces(kept(8.3))), /A, per connection/);
    assert.doesNotMatch(textOf(withPlaces(kept(8)), run()), /A, per connection/);
  });
});
