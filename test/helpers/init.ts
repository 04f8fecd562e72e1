/** What the tests of `init` have in common: where it writes, and what it wrote. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { readScenario } from '../../plugin/cli/scenario.ts';
import { readSettings } from '../../plugin/script/settings.ts';
import { STEPS } from '../../plugin/virtual-user/steps/index.ts';

/** Long enough for the publisher's start, and for several messages. */
export const SECONDS = '1';

export function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'init-'));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}

/** The scenario as a run would read it; undefined if there is none. */
export async function written(cwd: string) {
  const path = join(cwd, 'capacity.yml');
  if (!existsSync(path)) return { flow: undefined, settings: undefined };
  const script = await readScenario(path, undefined);
  return { flow: script.scenarios?.[0]?.flow, settings: readSettings(script, STEPS, {}) };
}
