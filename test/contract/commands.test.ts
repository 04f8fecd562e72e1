/** Checks that a test or the release executes every documented command that installs something, and lists by which. */
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { it } from 'node:test';
import { codeBlocks, page, ROOT } from '../helpers/pages.ts';

/** Commands that install or start something. `npm install` of the checkout itself is not one: it precedes all tests. */
const INSTALLS = /^(npm install [^&#]|pip |go |apt|brew |docker |helm |kubectl |openssl )/;

/** Documented commands, by the file that executes them. */
const EXECUTED = {
  'test/release.ts': /^npm install (\.\/socketio|-D (artillery \.\/|pm2$))/,
  'test/helpers/ci-project.ts': /^npm install --save-dev artillery \.\//,
  'test/tools.ts': /^npm install --prefix server-modules /,
  'test/deploy/image.test.ts': /^docker (build|run) /,
  'test/deploy/charts.test.ts': /^(helm|kubectl) /,
  'test/integration/hosts/fixed-secret.test.ts': /^openssl /,
};

const paths = globSync(['*.md', '{plugin,server}/*/README.md', 'docs/**/*.md'], { cwd: ROOT });
const blocks = paths.flatMap((path) => codeBlocks(page(path), 'sh'));
const commands = blocks.flatMap((block) => block.replaceAll('\\\n', '').split('\n'));

it('each documented command that installs something is executed', () => {
  const patterns = Object.values(EXECUTED);
  const installing = commands.filter((command) => INSTALLS.test(command));
  const unknown = installing.filter((command) => !patterns.some((pattern) => pattern.test(command)));
  assert.deepEqual(unknown, [], 'execute it, and add it to the list above');
  assert.ok(installing.length > 10);
});

for (const [file, pattern] of Object.entries(EXECUTED)) {
  it(`the docs still have the commands that ${file} executes`, () => {
    assert.ok(commands.some((command) => pattern.test(command)));
  });
}
