/** Runs `init` in tests, and reads the file that it wrote. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Server, ServerOptions } from 'socket.io';
import { readScenario } from '../../plugin/cli/scenario-argument.ts';
import { readSettings } from '../../plugin/script/settings.ts';
import { STEP_KINDS } from '../../plugin/virtual-user/steps/index.ts';
import { TOKEN } from './app.ts';
import { startChat } from './chat-server.ts';
import { cli } from './cli.ts';
import { eventually } from './poll.ts';
import { tempFolder } from './temp-folder.ts';

/** Seconds in which the publisher starts and sends several messages. */
export const SECONDS = '1';

type SetUp = (io: Server) => void;

/** @param args arguments of `init` after the URL */
export async function init(
  t: TestContext,
  serverOptions: SetUp | ({ setUp: SetUp } & Partial<ServerOptions>),
  ...args: string[]
) {
  const { setUp, ...options } = typeof serverOptions === 'function' ? { setUp: serverOptions } : serverOptions;
  const server = await startChat(t, setUp, options);
  const cwd = tempFolder(t);
  const answer = await cli(cwd, 'init', '--url', server.url, '--listen', SECONDS, ...args);
  await eventually('its client has disconnected', () => server.io.engine.clientsCount === 0);
  return { ...answer, ...(await written(cwd)) };
}

/** Asserts that `init` wrote a scenario. */
export async function good(...args: Parameters<typeof init>) {
  const answer = await init(...args);
  assert.equal(answer.code, 0, answer.stdout + answer.stderr);
  return answer;
}

/** @returns the scenario in the form that a run reads; undefined if there is none */
export async function written(cwd: string) {
  const path = join(cwd, 'capacity.yml');
  if (!existsSync(path)) return { text: '', flow: undefined, variables: undefined, settings: undefined };
  process.env.CAPACITY_TOKEN = TOKEN;
  const script = await readScenario(path, undefined);
  const { variables } = script.config;
  return {
    text: readFileSync(path, 'utf8'),
    flow: script.scenarios?.[0]?.flow,
    variables,
    settings: readSettings(script, STEP_KINDS, { ...namedIn(script), ...process.env }),
  };
}

/** Returns a value for each environment variable that the scenario uses. */
function namedIn(script: object): Record<string, string> {
  const names = JSON.stringify(script).matchAll(/\$env\.(\w+)/g);
  return Object.fromEntries([...names].map(([, name]) => [name, 'x']));
}
