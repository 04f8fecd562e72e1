import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { withSection } from '../../../bench/page.ts';

test('a bench replaces its own section of the page, and nothing else', () => {
  const page = readFileSync('docs/benchmarks.md', 'utf8');
  for (const name of ['client', 'client-tls', 'server']) {
    const changed = withSection(page, name, 'new\n');
    const [opening, closing] = [`<!-- bench:${name} -->`, `<!-- /bench:${name} -->`];
    assert.ok(changed.includes(`${opening}\n\nnew\n\n${closing}`), name);
    assert.equal(changed.split(opening)[0], page.split(opening)[0]);
    assert.equal(changed.split(closing)[1], page.split(closing)[1]);
  }
});

test('a page without that section is refused', () => {
  assert.throws(() => withSection('# Benchmarks\n', 'client', 'new'), /no section/);
});
