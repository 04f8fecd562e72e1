/** What the tests of `init` have in common: how it is run, and what it wrote. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Server, ServerOptions } from 'socket.io';
import { readScenario } from '../../plugin/cli/scenario-argument.ts';
import { readSettings } from '../../plugin/script/settings.ts';
import { STEPS } from '../../plugin/virtual-user/steps/index.ts';
import { TOKEN } from './app.ts';
import { startChat } from './chat-server.ts';
import { cli } from './cli.ts';
import { eventually } from './poll.ts';
import { tempFolder } from './temp-folder.ts';

/** Long enough for the publisher's start, and for several messages. */
export const SECONDS = '1';

type SetUp = (io: Server) => void;

/** @param args of `init`, beside the URL */
export async function init(
  t: TestContext,
  given: SetUp | ({ setUp: SetUp } & Partial<ServerOptions>),
  ...args: string[]
) {
  const { setUp, ...options } = typeof given === 'function' ? { setUp: given } : given;
  const server = await startChat(t, setUp, options);
  const cwd = tempFolder(t);
  const answer = await cli(cwd, 'init', '--url', server.url, '--listen', SECONDS, ...args);
  await eventually('it has left', () => server.io.engine.clientsCount === 0);
  return { ...answer, ...(await written(cwd)) };
}

/** It has written a scenario. */
export async function good(...given: Parameters<typeof init>) {
  const answer = await init(...given);
  assert.equal(answer.code, 0, answer.stdout + answer.stderr);
  return answer;
}

/** The scenario as a run would read it; undefined if there is none. */
export async function written(cwd: string) {
  const path = join(cwd, 'capacity.yml');
  if (!existsSync(path)) return { flow: undefined, variables: undefined, settings: undefined };
  process.env.CAPACITY_TOKEN = TOKEN;
  const script = await readScenario(path, undefined);
  const { variables } = script.config;
  return {
    flow: script.scenarios?.[0]?.flow,
    variables,
    settings: readSettings(script, STEPS, process.env),
  };
}
