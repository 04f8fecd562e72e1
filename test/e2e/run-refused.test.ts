/**
 * Tests runs that cannot start. Each prints one clear message with a fix, exits with code 2, and leaves no files or
 * processes.
 */
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

const closedPort = async () => `http://127.0.0.1:${await freePort()}`;

const ownServer = (target: string, options: object = {}) =>
  quickScript({ target }, { control: app.control, ...options });

interface Refusal {
  code: ErrorCode;
  /** Patterns that the message must match. */
  messages?: RegExp[];
  script: object;
  env?: Record<string, string>;
  args?: string[];
  before?: string;
}

type Refusals = Record<string, (t: TestContext) => Promise<Refusal>>;

/** Refusals that the run itself makes. Refusals by parts of the run are tested with these parts. */
const IN_PROCESS: Refusals = {
  'the target answers 502': async (t) => ({
    ...{ code: 'TARGET_UNREACHABLE', messages: [/answered 502/, /workers behind/] },
    script: ownServer(await answering(t, 502)),
  }),
  'the target accepts connections and does not respond': async (t) => ({
    ...{ code: 'TARGET_UNREACHABLE', messages: [/10 s/] },
    script: ownServer(await rawServer(t)),
  }),
  'the server refuses the room of the scenario': async (t) => {
    const { url, control } = await startInstrumented(t, () => {});
    const script = quickScript({ target: url }, { control, room: 'lobby' });
    return { code: 'JOIN_REFUSED', messages: [/"lobby/], script };
  },
  'the control port is closed': async () => {
    const script = ownServer(app.url, { control: { ...app.control, urls: [await closedPort()] } });
    return { code: 'SOURCE_UNREACHABLE', messages: [/ECONNREFUSED/], script };
  },
  'the port of the live view is in use': async () => ({
    code: 'PORT_UNAVAILABLE',
    script: ownServer(app.url, { live: { port: app.port } }),
  }),
};

/** Refusals that need Artillery, a separate process, or a check of remaining files. */
const WITH_ARTILLERY: Refusals = {
  'a control token is missing': async () => ({
    ...{ code: 'CONFIG_INVALID', messages: [/CAPACITY_TOKEN/] },
    script: quickScript({ target: app.url }),
    env: { CAPACITY_CONTROL: app.controlUrl },
  }),
  'the target of a user’s own scenario is a closed port': async () => {
    const target = await closedPort();
    const messages = [
      new RegExp(`ECONNREFUSED at ${new URL(target).host}: nothing listens there\\n.*start your server`),
    ];
    return { code: 'TARGET_UNREACHABLE', messages, script: quickScript({ target }) };
  },
  'another program uses the port of the bundled deployment': async (t) => {
    const target = await answering(t, 200);
    const { port } = new URL(target);
    const messages = [new RegExp(`port ${port} .*pid ${process.pid}\\)\\n.*TARGET=${target};`)];
    return { code: 'PORT_UNAVAILABLE', messages, script: quickScript({ target }, { stack: { port: Number(port) } }) };
  },
  'the target of the environment is a closed port': async () => {
    const TARGET = await closedPort();
    const messages = [
      new RegExp(`ECONNREFUSED at ${new URL(TARGET).host}: nothing listens there\\n.*start your server`),
    ];
    return { code: 'TARGET_UNREACHABLE', messages, script: ownServer('http://127.0.0.1:1'), env: { TARGET } };
  },
  'an external engine drives the load, and no control port counts its connections': async () => ({
    ...{ code: 'CONTROL_MISSING', messages: [/instrument\(io\)/] },
    script: {
      ...quickScript({ target: app.url }),
      scenarios: [{ engine: 'socketio-v3', flow: [{ hold: true }] }],
    },
  }),
  'the open-file limit is very low': async () => ({
    ...{ code: 'LIMIT_TOO_LOW', messages: [/256 files/, /ulimit -n/] },
    ...{ script: ownServer(app.url), before: 'ulimit -n 256' },
  }),
  'results cannot be written': async () => ({
    ...{ code: 'FILE_UNWRITABLE', messages: [/quick\.yml\/results/] },
    script: quickScript({ target: app.url }, { results: 'quick.yml/results' }),
  }),
};

function assertReported(output: string, { code, messages = [] }: Refusal): void {
  assert.equal(output.split(`${code}: `).length, 2, `reported once: ${code}\n${output}`);
  for (const message of messages) assert.match(output, message);
  assert.match(output, /\n {2}fix: \S/);
}

describe('refused runs', { concurrency: 3 }, () => {
  for (const [why, refusal] of Object.entries(IN_PROCESS)) {
    it(`a run refuses to start if ${why}`, async (t) => {
      const refused = await refusal(t);
      const { output, exitCode } = await startInProcess(refused.script as ReturnType<typeof quickScript>).failed;
      assertReported(output, refused);
      assert.equal(exitCode, EXIT_CODES.refused);
    });
  }

  for (const [why, refusal] of Object.entries(WITH_ARTILLERY)) {
    it(`a run refuses to start if ${why}`, async (t) => {
      const refused = await refusal(t);
      const run = startRun(t, refused);
      const exitCode = await run.ended;
      const output = run.output();
      assertReported(output, refused);
      assert.equal(exitCode, EXIT_CODES.refused, output);
      assert.doesNotMatch(output, /TypeError|\n\s+at |Phase started|Unhandled|Warning/i);
      assert.deepEqual(strays(run), []);
      assert.deepEqual(readdirSync(run.directory), ['quick.yml'], 'no file is left');
      assert.equal(existsSync(run.stateDir), false);
    });
  }

  it('Artillery reports a scenario with invalid YAML', async (t) => {
    const run = startRun(t, { script: 'config:\n  target: [\n scenarios: }' });
    assert.equal(await run.ended, 1, run.output());
    assert.match(run.output(), /quick\.yml|YAML|flow|collection/i);
    assert.doesNotMatch(run.output(), /\n\s+at /);
  });
});
