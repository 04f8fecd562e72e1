/** Runs that cannot begin: one clear message with the way out, exit code 2, and nothing left. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { after, describe, it, type TestContext } from 'node:test';
import type { ErrorCode } from '../../protocol/codes/error-codes.ts';
import { EXIT_CODES } from '../../protocol/codes/exit-codes.ts';
import { startApp } from '../helpers/app.ts';
import { startInstrumented } from '../helpers/chat-server.ts';
import { startInProcess } from '../helpers/in-process-run.ts';
import { rawServer, urlOf } from '../helpers/raw-listen.ts';
import { freePort } from '../helpers/redis.ts';
import { quickScript, startRun, strays } from '../helpers/run.ts';

const app = await startApp({ after });

const answering = (t: TestContext, status: number) =>
  urlOf(
    t,
    createServer((_request, response) => response.writeHead(status).end('hello')),
  );

const nobody = async () => `http://127.0.0.1:${await freePort()}`;

const ownServer = (target: string, options: object = {}) =>
  quickScript({ target }, { control: app.control, ...options });

interface Refusal {
  code: ErrorCode;
  /** What the message names. */
  names?: RegExp[];
  script: object;
  env?: Record<string, string>;
  args?: string[];
  before?: string;
}

type Refusals = Record<string, (t: TestContext) => Promise<Refusal>>;

/** The run itself says so. What the parts of it say, their own tests have. */
const HERE: Refusals = {
  'the target answers 502': async (t) => ({
    ...{ code: 'TARGET_UNREACHABLE', names: [/answered 502/, /workers behind/] },
    script: ownServer(await answering(t, 502)),
  }),
  'the target accepts connections and does not respond': async (t) => ({
    ...{ code: 'TARGET_UNREACHABLE', names: [/10 s/] },
    script: ownServer(await rawServer(t)),
  }),
  'the server does not open the room of the scenario': async (t) => {
    const { url, control } = await startInstrumented(t, () => {});
    const script = quickScript({ target: url }, { control, room: 'lobby' });
    return { code: 'JOIN_REFUSED', names: [/"lobby/], script };
  },
  'nobody listens on the control port': async () => {
    const script = ownServer(app.url, { control: { ...app.control, urls: [await nobody()] } });
    return { code: 'SOURCE_UNREACHABLE', names: [/ECONNREFUSED/], script };
  },
  'the port of the live view is taken': async () => ({
    code: 'PORT_UNAVAILABLE',
    script: ownServer(app.url, { live: { port: app.port } }),
  }),
};

/** Depends on Artillery, on the process, or on what may be left. */
const WHOLE: Refusals = {
  'a control token is missing': async () => ({
    ...{ code: 'CONFIG_INVALID', names: [/CAPACITY_TOKEN/] },
    script: quickScript({ target: app.url }),
    env: { CAPACITY_CONTROL: app.controlUrl },
  }),
  'nobody listens at the target of a scenario of the user’s own, on a port that is free': async () => {
    const target = await nobody();
    const names = [new RegExp(`ECONNREFUSED at ${new URL(target).host}: nothing listens there\\n.*start your server`)];
    return { code: 'TARGET_UNREACHABLE', names, script: quickScript({ target }) };
  },
  'another program has the port of the bundled deployment': async (t) => {
    const target = await answering(t, 200);
    const { port } = new URL(target);
    const names = [new RegExp(`port ${port} .*pid ${process.pid}\\)\\n.*TARGET=${target};`)];
    return { code: 'PORT_UNAVAILABLE', names, script: quickScript({ target }, { stack: { port: Number(port) } }) };
  },
  'nobody listens at the target of the environment': async () => {
    const TARGET = await nobody();
    const names = [new RegExp(`ECONNREFUSED at ${new URL(TARGET).host}: nothing listens there\\n.*start your server`)];
    return { code: 'TARGET_UNREACHABLE', names, script: ownServer('http://127.0.0.1:1'), env: { TARGET } };
  },
  'an external engine drives the load, and no worker is known that counts its connections': async () => ({
    ...{ code: 'CONTROL_MISSING', names: [/instrument\(io\)/] },
    script: {
      ...quickScript({ target: app.url }),
      scenarios: [{ engine: 'socketio-v3', flow: [{ hold: true }] }],
    },
  }),
  'the open-file limit is very low': async () => ({
    ...{ code: 'LIMIT_TOO_LOW', names: [/256 files/, /ulimit -n/] },
    ...{ script: ownServer(app.url), before: 'ulimit -n 256' },
  }),
  'results cannot be written': async () => ({
    ...{ code: 'FILE_UNWRITABLE', names: [/quick\.yml\/results/] },
    script: quickScript({ target: app.url }, { results: 'quick.yml/results' }),
  }),
};

function assertSaid(output: string, { code, names = [] }: Refusal): void {
  assert.equal(output.split(`${code}: `).length, 2, `reported once: ${code}\n${output}`);
  for (const name of names) assert.match(output, name);
  assert.match(output, /\n {2}fix: \S/);
}

describe('a run cannot begin when', { concurrency: 3 }, () => {
  for (const [why, refusal] of Object.entries(HERE)) {
    it(why, async (t) => {
      const refused = await refusal(t);
      const { output, exitCode } = await startInProcess(refused.script as ReturnType<typeof quickScript>).failed;
      assertSaid(output, refused);
      assert.equal(exitCode, EXIT_CODES.refused);
    });
  }

  for (const [why, refusal] of Object.entries(WHOLE)) {
    it(why, async (t) => {
      const refused = await refusal(t);
      const run = startRun(t, refused);
      const exitCode = await run.ended;
      const output = run.output();
      assertSaid(output, refused);
      assert.equal(exitCode, EXIT_CODES.refused, output);
      assert.doesNotMatch(output, /TypeError|\n\s+at |Phase started|Unhandled|Warning/i);
      assert.deepEqual(strays(run), []);
      assert.deepEqual(readdirSync(run.directory), ['quick.yml'], 'no file is left');
      assert.equal(existsSync(run.stateDir), false);
    });
  }

  it('its YAML is invalid, which Artillery says itself', async (t) => {
    const run = startRun(t, { script: 'config:\n  target: [\n scenarios: }' });
    assert.equal(await run.ended, 1, run.output());
    assert.match(run.output(), /quick\.yml|YAML|flow|collection/i);
    assert.doesNotMatch(run.output(), /\n\s+at /);
  });
});
