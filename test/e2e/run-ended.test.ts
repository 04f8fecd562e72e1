/** Servers that refuse or close the connections of a run: the first finding quotes the reason from the server. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { EXIT_CODES } from '../../protocol/codes/exit-codes.ts';
import { leadingFindings } from '../../report/answer/answer.ts';
import { answeringServer, endingServer, oldServer } from '../helpers/ending-server.ts';
import { inProcessScript, startInProcess } from '../helpers/in-process-run.ts';

const HOLD = [{ connect: {} }, { hold: true }];
const BLOB = [{ connect: {} }, { emit: ['blob', 'x'.repeat(1_200_000)] }, { hold: true }];
const USERS = 10;

interface Case {
  serve: (t: TestContext) => Promise<string>;
  flow?: object[];
  engineOptions?: object;
  code: string;
  about?: string;
  message: RegExp;
  fix?: RegExp;
}

const refusing = (message: string) => (t: TestContext) =>
  endingServer(t, (io) => io.use((_, next) => next(new Error(message))));
const large = (t: TestContext) => endingServer(t, () => {});
const TOO_LARGE = { flow: BLOB, code: 'MESSAGES_TOO_LARGE', fix: /maxHttpBufferSize/ };
const SIZES_MESSAGE = /^10 of 10 were closed .*the flow sends 1,200,0\d\d bytes, the server takes 1,000,000/;
const PAGE = '<!DOCTYPE html><html><head><title>Blocked by Acme WAF</title></head><body><h1>No</h1></body></html>';

const CASES: Record<string, Case> = {
  'a message above maxHttpBufferSize': { ...TOO_LARGE, serve: large, message: SIZES_MESSAGE },
  'a message above maxHttpBufferSize of the official client': {
    ...TOO_LARGE,
    ...{ serve: large, engineOptions: { client: 'official' }, message: SIZES_MESSAGE },
  },
  'a message above maxHttpBufferSize by polling': {
    ...TOO_LARGE,
    ...{ serve: large, engineOptions: { transports: ['polling'] }, message: SIZES_MESSAGE },
  },
  'middleware that refuses all': {
    ...{ serve: refusing('tenant is suspended'), code: 'CONNECTIONS_FAILED' },
    message: /^the server refused: tenant is suspended: 10 of 10 failed/,
  },
  'allowRequest that refuses all': {
    serve: (t) => endingServer(t, () => {}, { allowRequest: (_, done) => done('origin not allowed', false) }),
    ...{ code: 'CONNECTIONS_FAILED', message: /^the server answered 40\d [^,]*, origin not allowed: 10 of 10/ },
  },
  'a rate limit with a body': {
    serve: (t) => answeringServer(t, 429, 'slow down: 5 connects per minute', 'text/plain'),
    ...{
      code: 'CONNECTIONS_FAILED',
      message: /^the server answered 429 [^,]*, slow down: 5 connects per minute: 10 of 10/,
    },
  },
  'a page of a firewall': {
    serve: (t) => answeringServer(t, 403, PAGE),
    ...{ code: 'CONNECTIONS_FAILED', message: /^the server answered 403 [^,]*, Blocked by Acme WAF: No: 10 of 10/ },
  },
  'an application that closes after a second': {
    serve: (t) =>
      endingServer(t, (io) =>
        io.on('connection', (socket) => {
          setTimeout(() => {
            socket.emit('kick', 'Last heartbeat was 1 s ago');
            socket.disconnect(true);
          }, 1000);
        }),
      ),
    ...{ code: 'CONNECTIONS_DROPPED', about: 'application' },
    message:
      /^the application itself closed 10 of 10 connections, after (0\.\d+ to )?1\.\d( to 1\.\d)? s; the last event before: kick "Last heartbeat was 1 s ago"/,
  },
  'an application that closes after 20 messages': {
    serve: (t) =>
      endingServer(t, (io) =>
        io.on('connection', (socket) => {
          let count = 0;
          socket.on('say', () => {
            if (++count > 20) socket.disconnect(true);
          });
        }),
      ),
    flow: [{ connect: {} }, { loop: [{ emit: ['say', 1] }, { think: 0.05 }], count: 30 }, { hold: true }],
    ...{ code: 'CONNECTIONS_DROPPED', about: 'application' },
    message: /^the application itself closed 10 of 10 connections, after 21 messages each/,
  },
  'a close code of the application': {
    serve: (t) =>
      endingServer(t, (io) =>
        io.on('connection', ({ conn }) => {
          const { socket } = conn.transport as unknown as { socket: { close(code: number, words: string): void } };
          setTimeout(() => socket.close(1012, 'deploy of v2'), 500);
        }),
      ),
    ...{
      code: 'CONNECTIONS_DROPPED',
      message: /10 with 1012 \(the server restarts: "deploy of v2"\)/,
      fix: /deployment/,
    },
  },
};

/** Ignores findings about a busy machine. */
const isOfServer = ({ about }: { about: string }) => about === 'deployment' || about === 'application';

describe('the first finding reports the cause for', { concurrency: 3 }, () => {
  for (const [
    situation,
    { serve, flow = HOLD, engineOptions = {}, code, about = 'deployment', message, fix },
  ] of Object.entries(CASES)) {
    it(situation, async (t) => {
      const target = await serve(t);
      const script = inProcessScript({ target }, { warmUp: 0, hold: 2 }, engineOptions, flow, USERS / 2);
      const { result, exitCode, output } = await startInProcess(script).ended;
      const [first, ...others] = leadingFindings(result.findings).filter(isOfServer);
      assert.equal(first?.code, code, output);
      assert.match(first.message, message);
      assert.equal(first.about, about);
      if (fix) assert.match(first.fix, fix);
      assert.deepEqual([result.outcome.status, exitCode], ['FAILED', EXIT_CODES.worse], output);
      // On a slow machine, the ramp can be too slow as well.
      assert.deepEqual(
        others.filter(({ code }) => code !== 'RATE_NOT_REACHED'),
        [],
        output,
      );
    });
  }

  it('a server of Socket.IO 2, before the load', async (t) => {
    const script = inProcessScript({ target: await oldServer(t) }, { warmUp: 0 }, {}, HOLD, USERS / 2);
    const { output, exitCode } = await startInProcess(script).failed;
    assert.match(output, /TARGET_UNREACHABLE: Socket\.IO 2: not supported.*\n {2}fix: upgrade the server/);
    assert.equal(exitCode, EXIT_CODES.refused);
  });
});
