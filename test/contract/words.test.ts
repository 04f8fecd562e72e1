/** Checks that comments and test titles stand alone: they begin with their subject or verb, and name the subject. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parseSync, Visitor } from 'oxc-parser';
import { ROOT } from '../helpers/pages.ts';

/** Forbidden constructs, by the rule that they break. */
const RULES = {
  'begin with a noun phrase or a verb':
    /^(of|by|as|where|with|not|so that|who|whoever|what|those|such|nobody|somebody|others|no longer)\b/i,
  'name the subject: the run, the worker, the connection':
    /(?<!`)\b(whoever|nobody|somebody|of which|of whom|those (that|who)|(is|are|was) told(?! apart)|in vain|of (ours|theirs)|c[oa]mes? back)\b/i,
};

/** @returns the rules that comments and test titles break, including titles in tables of cases */
function brokenIn(path: string, text: string): string[] {
  const { program, comments } = parseSync(path, text);
  const broken: string[] = [];
  const check = (start: number, words: string) => {
    for (const [rule, construct] of Object.entries(RULES)) {
      const [used] = construct.exec(words) ?? [];
      const line = text.slice(0, start).split('\n').length;
      if (used) broken.push(`${path}:${line}: "${used}" in "${words.slice(0, 80)}": ${rule}`);
    }
  };
  for (const [index, { type, value, start }] of comments.entries()) {
    const before = comments[index - 1];
    const isContinued = type === 'Line' && before?.type === 'Line' && /^\n *$/.test(text.slice(before.end, start));
    if (!isContinued) check(start, value.replace(/^\*?\s*(\*\s)?/, '').replaceAll(/\s*\n\s*\*?\s?/g, ' '));
  }
  const checkTitle = (node: { start: number; end: number } | null | undefined) => {
    const [title] = /^['"`].* .*/s.exec(text.slice(node?.start, node?.end)) ?? [];
    if (node && title) check(node.start, title.slice(1, -1));
  };
  const titles = new Visitor({
    CallExpression: ({ callee, arguments: [title] }) => {
      if (/^(it|test|describe)\b/.test(text.slice(callee.start, callee.end))) checkTitle(title);
    },
    ArrayExpression: ({ elements: rows }) => {
      for (const row of rows) if (row?.type === 'ArrayExpression' && row.elements[1]) checkTitle(row.elements[0]);
    },
  });
  if (path.startsWith('test/')) titles.visit(program);
  return broken;
}

const topOf = (path: string) => path.split('/')[0] as string;
const exclude = (name: string) => /node_modules|^dist$|neighbours|cache/.test(name);
const files = globSync('*/**/*.ts', { cwd: ROOT, exclude });
const found = Object.groupBy(
  files.flatMap((path) => brokenIn(path, readFileSync(join(ROOT, path), 'utf8'))),
  topOf,
);

describe('comments and titles', () => {
  for (const folder of new Set(files.map(topOf))) {
    it(`comments and test titles in ${folder} follow the rules of words`, () => {
      assert.deepEqual(found[folder] ?? [], []);
    });
  }
});
