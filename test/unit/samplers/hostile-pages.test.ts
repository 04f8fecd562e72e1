/** Pages of metrics that no exporter writes, or that are too large: no figure comes of them, and nobody stands still for them. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PageLines, readPage } from '../../../plugin/samplers/prometheus/page.ts';

const NAME = 'process_resident_memory_bytes';
const QUERY = { url: 'http://10.0.0.11/metrics', labels: {} };

function linesOf(count: number, line: (index: number) => string): string {
  return Array.from({ length: count }, (_, index) => `${line(index)}\n`).join('');
}

describe('a page of metrics', () => {
  const rest = ['', ' -5', ' 1e300', ' +Inf', ' NaN', ' 5x', '{a="x} 5', `{a="${'\\'.repeat(101)}} 5`];
  for (const one of rest) {
    it(`is no page with ${JSON.stringify(one).slice(0, 20)} as a value`, () => {
      assert.throws(() => readPage(`${NAME}${one}\n`, QUERY), /impossible value/);
    });
  }

  it('is read in time that grows with its samples, not with their square', () => {
    const beganMs = performance.now();
    const { values } = readPage(
      linesOf(50_000, (index) => `container_memory_working_set_bytes{id="/${index}"} 1`),
      QUERY,
    );
    assert.equal(values.container_memory_working_set_bytes, 50_000);
    assert.ok(performance.now() - beganMs < 5000);
  });

  it('can have more samples than a function has arguments', () => {
    const { figures } = readPage(
      linesOf(150_000, (index) => `${NAME}{id="${index}"} 1`),
      QUERY,
    );
    assert.equal(figures.rssBytes, 150_000);
  });

  it('arrives in pieces, of which only what is read is kept', () => {
    const page = new PageLines();
    const sent = Buffer.from(`${linesOf(20_000, (index) => `é_bucket{le="${index}"} 1`)}${NAME}{a="é"} 7`);
    for (let at = 0; at < sent.length; at += 999) page.add(sent.subarray(at, at + 999));
    assert.equal(readPage(page.text(), QUERY).figures.rssBytes, 7);
    assert.ok(page.text().length < 30_000);
  });

  it('has no end of what is wanted', () => {
    const page = new PageLines();
    const lines = Buffer.from(linesOf(20_000, (index) => `${NAME}{id="${index}"} 1`));
    page.add(lines);
    assert.throws(() => {
      for (let added = 0; added < 100; added++) page.add(lines);
    }, /more than/);
  });

  it('has no endless lines', () => {
    assert.throws(() => new PageLines().add(Buffer.alloc(100_000, 'x')), /line/);
  });
});
