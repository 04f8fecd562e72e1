/** Tests plugin, engine and command on a version of Node that is too old. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { execa } from 'execa';
import { EXIT_CODES } from '../../../protocol/codes/exit-codes.ts';
import { ROOT } from '../../helpers/pages.ts';

/** Makes Node claim to be Node 20. Missing features of Node 20 are not tested. */
const AS_NODE_20 =
  "data:text/javascript,Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } })";

for (const file of ['plugin/hook/cli.js', 'plugin/hook/index.js', 'plugin/engine/index.js']) {
  it(`${file} reports the Node version that it needs, and exits`, async () => {
    const code = `import '${pathToFileURL(join(ROOT, file)).href}';`;
    const args = ['--import', AS_NODE_20, '--input-type=module', '-e', code];
    const { exitCode, stderr } = await execa(process.execPath, args, { reject: false });
    assert.equal(exitCode, EXIT_CODES.refused);
    assert.match(stderr, /^NODE_TOO_OLD: .*\n {2}fix: .*$/);
  });
}

it('both packages need the Node version of Artillery', () => {
  const { engines } = createRequire(import.meta.url)('artillery/package.json');
  assert.match(engines.node, /^>=\s*22\.18/);
  const [hook, engine] = ['hook', 'engine'].map((name) =>
    readFileSync(join(ROOT, 'plugin', name, 'node-version.js'), 'utf8'),
  );
  assert.equal(hook, engine);
});
