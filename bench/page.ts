/** The page of the documentation that has the published figures: each bench replaces its own section, between two markers. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const PAGE = join('docs', 'benchmarks.md');

/** @throws Error if the page has no such section */
export function publishSection(name: string, text: string): void {
  writeFileSync(PAGE, withSection(readFileSync(PAGE, 'utf8'), name, text));
}

export function withSection(page: string, name: string, text: string): string {
  const [opening, closing] = [`<!-- bench:${name} -->`, `<!-- /bench:${name} -->`];
  const [begin, end] = [page.indexOf(opening), page.indexOf(closing)];
  if (begin < 0 || end < begin) throw new Error(`${PAGE} has no section between ${opening} and ${closing}`);
  return `${page.slice(0, begin + opening.length)}\n\n${text.trim()}\n\n${page.slice(end)}`;
}
