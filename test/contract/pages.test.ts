/**
 * Checks all pages of the documentation: links work, examples are accepted, and the named scenarios and scripts exist.
 */
import assert from 'node:assert/strict';
import { existsSync, globSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import { parseStudyPlan } from '../../plugin/cli/study/read-study.ts';
import type { InputProblem } from '../../protocol/base/problems.ts';
import { mistakesIn } from '../helpers/mistakes.ts';
import { anchor, codeBlocks, links, page, ROOT, sections } from '../helpers/pages.ts';

describe('all pages', () => {
  const paths = globSync(['*.md', 'plugin/*/README.md', 'server/*/README.md', 'docs/**/*.md'], { cwd: ROOT });

  it('the docs have no dead links', () => {
    const exists = (path: string, target: string) => {
      const [file = '', id] = target.split('#');
      const found = file === '' ? path : locate(path, file);
      if (!found || !id || !found.endsWith('.md')) return found !== undefined;
      return sections(page(found)).some(({ heading }) => anchor(heading) === id);
    };
    const targets = paths.flatMap((path) => links(page(path)).map((target) => [path, target] as const));
    const dead = targets.filter(([path, target]) => !exists(path, target));
    assert.deepEqual(dead, []);
  });

  it('the docs show only YAML that is valid for the engine or a study', () => {
    const problems = paths.flatMap((path) =>
      codeBlocks(page(path), 'yaml').flatMap((code) =>
        problemsOf(parse(code)).map((problem) => `${path}: ${problem.path}: ${problem.message}\n${code}`),
      ),
    );
    assert.deepEqual(problems, []);
  });

  it('the docs name only scenarios and npm scripts that exist', () => {
    const { scripts } = JSON.parse(page('package.json')) as { scripts: Record<string, string> };
    for (const path of paths) {
      const text = page(path);
      for (const [file] of text.matchAll(/scenarios\/[\w-]+\.yml/g)) {
        if (file !== 'scenarios/mine.yml') assert.ok(existsSync(join(ROOT, file)), `${path}: ${file}`);
      }
      for (const [, script = ''] of text.matchAll(/npm run ([\w:-]+)/g)) {
        assert.ok(script in scripts, `${path}: npm run ${script}`);
      }
    }
  });
});

/**
 * Returns the file of a link. The link can be absolute in the site or relative to its page, with or without an
 * extension.
 */
function locate(from: string, target: string): string | undefined {
  const base = target.startsWith('/') ? join('docs', target) : join(dirname(from), target);
  return [base, `${base}.md`, join(base, 'index.md'), join('docs/public', target)].find(
    (path) => /\.\w+$/.test(path) && existsSync(join(ROOT, path)),
  );
}

function problemsOf(example: unknown): InputProblem[] {
  const isStudy = typeof example === 'object' && example !== null && 'vary' in example;
  return isStudy ? parseStudyPlan(example, '').problems : mistakesIn(asScript(example) as never);
}

/** Completes an example to a script. An example can be a whole script, its `config`, or the steps of a flow. */
function asScript(example: unknown): object {
  const base = { target: 'http://127.0.0.1:8080', processor: './processor.js' };
  const whole = Array.isArray(example) ? { scenarios: [{ flow: example }] } : (example as Record<string, object>);
  const { config = {}, scenarios = [{ flow: [] }] } = whole as { config?: object; scenarios?: object[] };
  return {
    config: { ...base, ...config },
    scenarios: scenarios.map((scenario) => ({ engine: 'socketio-capacity', ...scenario })),
  };
}
