/**
 * Tests the Compose files with the parser of Docker Compose: `go install
 * github.com/compose-spec/compose-go/v2/cmd@latest`, renamed from `cmd` to `compose-spec`.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { execa } from 'execa';
import { COMPOSE_FILES, composeServices, DEPLOY, guideCompose } from '../helpers/deploy.ts';
import { tempFolder } from '../helpers/temp-folder.ts';
import { missingTools } from '../helpers/tools.ts';

describe('the Compose specification', { skip: missingTools('compose-spec') }, () => {
  for (const file of COMPOSE_FILES) {
    it(`the Compose specification allows ${file}`, async () => {
      const services = await servicesOf(join(DEPLOY, file));
      assert.deepEqual(services.sort(), Object.keys(composeServices(file)).sort());
    });
  }

  it('the Compose specification allows the file of the guide to several hosts', async (t) => {
    const folder = tempFolder(t);
    const file = join(folder, 'compose.yml');
    writeFileSync(file, guideCompose());
    assert.deepEqual((await servicesOf(file)).sort(), ['conductor', 'host']);
  });
});

async function servicesOf(path: string): Promise<string[]> {
  // Disables interpolation, because the parser alone does not read the environment.
  const args = ['-no-interpolation', '-format', 'json', path];
  const { exitCode, stdout, all } = await execa('compose-spec', args, { reject: false, all: true });
  assert.equal(exitCode, 0, all);
  return Object.keys(JSON.parse(stdout).services);
}
