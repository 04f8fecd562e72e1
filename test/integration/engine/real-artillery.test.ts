/** Tests runs with Artillery itself, for its files, payloads, processor modules and HTTP metrics. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { loadParser } from '../../../plugin/fleet/client/parser.ts';
import { runArtillery } from '../../helpers/artillery.ts';
import { startChat } from '../../helpers/chat-server.ts';
import { readFlow } from '../../helpers/engine-run.ts';
import { startFlowServer } from '../../helpers/flow-server.ts';
import { PEM } from '../../helpers/pem.ts';

const ENGINE = 'socketio-capacity';

it('a virtual user logs in over HTTP with rows of a CSV file, then connects with the token', async (t) => {
  const config = {
    target: await startFlowServer(t),
    phases: [{ duration: 1, arrivalCount: 2 }],
    engines: { [ENGINE]: {} },
    payload: { path: 'users.csv', fields: ['name', 'password'] },
  };
  const files = { 'users.csv': 'ada,lovelace\neve,adam\n' };
  const { exitCode, counters, output } = await runArtillery({ ...readFlow('v3-http-payload.yml'), config }, files);
  assert.equal(exitCode, 0, output);
  assert.equal(counters['vusers.completed'], 2, output);
  assert.equal(counters['http.codes.200'], 2);
  assert.equal(counters['socketio.emit'], 2);
});

it('the engine reports why an HTTP step of a flow failed, and counts the failure once', async (t) => {
  const flow = [{ get: { url: '/nowhere', capture: { json: '$.token', as: 'token' } } }, { connect: true }];
  const config = {
    target: await startFlowServer(t),
    phases: [{ duration: 1, arrivalCount: 1 }],
    engines: { [ENGINE]: {} },
  };
  const { exitCode, counters, output } = await runArtillery({ config, scenarios: [{ engine: ENGINE, flow }] });
  assert.equal(exitCode, 1, output);
  assert.equal(counters['errors.failed_request'], 1, output);
  assert.equal(counters['http.codes.404'], 1);
});

it('the engine reads certificates and parsers from files in the folder of the scenario', async (t) => {
  const parser = fileURLToPath(new URL('../../fixtures/lines-parser.cjs', import.meta.url));
  const { port } = await startChat(
    t,
    (io) => io.on('connection', (socket) => void socket.on('check', (answer) => answer(true))),
    { tls: PEM, parser: loadParser(parser) },
  );
  const script = {
    config: {
      target: `https://localhost:${port}`,
      tls: { ca: './ca.pem' },
      phases: [{ duration: 1, arrivalCount: 1 }],
      engines: { [ENGINE]: { parser: './parser.cjs' } },
    },
    scenarios: [{ engine: ENGINE, flow: [{ emit: ['check'], acknowledge: { args: true } }] }],
  };
  const { exitCode, output } = await runArtillery(script, {
    'ca.pem': PEM.cert,
    'parser.cjs': readFileSync(parser, 'utf8'),
  });
  assert.equal(exitCode, 0, output);
});
