/**
 * The Compose files, read by the parser that Docker Compose uses. It is built by
 * `go install github.com/compose-spec/compose-go/v2/cmd@latest`, and must be renamed from `cmd` to `compose-spec`.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { execa } from 'execa';
import { COMPOSE_FILES, composeServices, DEPLOY } from '../helpers/deploy.ts';
import { missingTools } from '../helpers/tools.ts';

describe('the Compose specification', { skip: missingTools('compose-spec') }, () => {
  for (const file of COMPOSE_FILES) {
    it(`allows ${file}`, async () => {
      // Alone, the parser reads no environment.
      const args = ['-no-interpolation', '-format', 'json', join(DEPLOY, file)];
      const { exitCode, stdout, all } = await execa('compose-spec', args, { reject: false, all: true });
      assert.equal(exitCode, 0, all);
      assert.deepEqual(Object.keys(JSON.parse(stdout).services).sort(), Object.keys(composeServices(file)).sort());
    });
  }
});
