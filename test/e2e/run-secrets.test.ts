/** Tests a run with secrets in its scenario, environment and payload. The server repeats them in its errors. */
import assert from 'node:assert/strict';
import { globSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Server } from 'socket.io';
import { startChat } from '../helpers/chat-server.ts';
import { quickScript, startRun } from '../helpers/run.ts';

let canaries = 0;
/** Creates a secret whose text contains its place, so that a leak shows where it came from. */
const canary = (location: string) => `Canary${++canaries}x-${location}-${'q7'.repeat(4)}`;

const METRICS = () => `process_resident_memory_bytes ${process.memoryUsage().rss}
process_cpu_seconds_total ${process.cpuUsage().user / 1e6}
process_start_time_seconds 1700000000
`;

test('no file, stream or command line of a run contains credentials or message contents', async (t) => {
  let refusals = 0;
  const requests: string[] = [];
  const setUp = (io: Server) => {
    io.use((socket, next) => {
      const { auth, query, headers } = socket.handshake;
      const message = JSON.stringify({ auth, query, headers });
      requests.push(message);
      // Refuses a connection only after the run's own clients are connected. Otherwise, the run would end.
      if (io.engine.clientsCount > 6 && refusals++ < 1) {
        next(
          Object.assign(new Error(`refused ${auth.token} ${auth.fromEnv} ${auth.fromRow} ${message}`), {
            data: message,
          }),
        );
      } else next();
    });
    io.on('connection', (socket) => {
      socket.on('login', (...args) => {
        requests.push(JSON.stringify(args));
        args.at(-1)({ error: `wrong: ${JSON.stringify(args)}` });
      });
      socket.on('say', (message) => io.emit('said', message));
    });
  };
  const onRequest = (request: IncomingMessage, response: ServerResponse) => {
    if (request.url?.startsWith('/metrics')) return void response.end(METRICS());
    if (request.url?.startsWith('/socket.io')) return;
    let body = '';
    request.on('data', (part) => {
      body += part;
    });
    request.on('end', () => {
      requests.push(`${request.url} ${JSON.stringify(request.headers)} ${body}`);
      response.writeHead(401, { 'content-type': 'text/plain' }).end(`no: ${request.url} ${body}`);
    });
  };
  const { url } = await startChat(t, setUp, { onRequest });
  const serverUrl = new URL(url);
  const withUser = `http://${canary('user')}:${canary('password')}@${serverUrl.host}/?target=${canary('target-query')}`;
  const sent = { login: canary('emit'), password: canary('emit-password') };
  const flow = [
    {
      post: {
        url: `/login?code=${canary('url-query')}`,
        json: { user: canary('json'), password: canary('json-password') },
        headers: { 'x-own': canary('http-header'), authorization: `Bearer ${canary('http-bearer')}` },
        cookie: { sid: canary('http-cookie') },
      },
    },
    { put: { url: '/form', form: { field: canary('form') } } },
    { put: { url: '/body', body: canary('body'), auth: { user: canary('http-user'), pass: canary('http-pass') } } },
    { connect: { auth: { token: canary('step-token'), fromEnv: '{{ $env.RUN_LOGIN }}', fromRow: '{{ secretRow }}' } } },
    {
      emit: ['login', sent, '{{ secretRow }}', canary('emit-text')],
      acknowledge: { match: { json: '$.0.ok', value: canary('match') } },
    },
    { hold: true },
  ];
  const options = {
    warmUp: 0,
    live: true,
    workers: { prometheus: { url: `${url}/metrics?token=${canary('prometheus')}` } },
    delivery: {
      event: 'said',
      id: '$.0.id',
      publish: { emit: ['say', { id: '$id', note: canary('publish') }], count: 3, every: 0.2 },
    },
  };
  const engine = {
    auth: { token: canary('auth-token'), name: canary('auth-name') },
    query: { secretQuery: canary('query') },
    headers: { 'x-key': canary('header') },
    extraHeaders: { cookie: `session=${canary('cookie')}` },
    acknowledge: [canary('acknowledge')],
  };
  // Number of virtual users at which Artillery, which chooses scenarios at random, plays both scenarios.
  const ramp = { duration: 1, arrivalRate: 10, rampTo: 10 };
  const script = quickScript(
    {
      target: withUser,
      phases: [ramp, { pause: 2 }, ramp, { pause: 2 }],
      payload: { path: 'users.csv', fields: ['secretRow'] },
      variables: { unused: canary('variable') },
      defaults: { headers: { 'x-default': canary('default-header') } },
    },
    options,
    engine,
    [{ connect: true }, { hold: true }],
  );
  script.scenarios.push({ ...script.scenarios[0], name: 'refused', flow } as never);
  Object.assign(script.scenarios[0] as object, {
    name: 'stays',
    socketio: { query: { own: canary('scenario-query') } },
  });
  const env = { RUN_LOGIN: canary('environment'), REDIS_URL: '' };
  const run = startRun(t, { script, env });
  const row = canary('payload');
  writeFileSync(join(run.directory, 'users.csv'), `${row}\n`);

  const lines = new Set<string>();
  const timer = setInterval(() => {
    for (const line of commandLines()) lines.add(line);
  }, 50);
  t.after(() => clearInterval(timer));
  let live = '';
  const [, page = ''] = await run.said(/Live view: (\S+)/);
  const read = setInterval(() => {
    fetch(`${page}metrics`).then(
      async (answer) => {
        live += await answer.text();
      },
      () => {},
    );
  }, 500);
  t.after(() => clearInterval(read));
  await run.ended;

  const result = run.result();
  assert.ok(result, run.output());
  const examples = JSON.stringify(result.connections);
  assert.match(run.output() + examples, /refused|401|login/, 'the run reports the refusals');
  assert.ok(requests.join('').includes(sent.password), 'the real values are sent');
  assert.ok(requests.join('').includes(row) && requests.join('').includes(env.RUN_LOGIN));
  const files = globSync('results/**/*', { cwd: run.directory, withFileTypes: true })
    .filter((file) => file.isFile())
    .map((file) => join(file.parentPath, file.name));
  for (const name of ['result.json', 'report.html', 'report.md', 'junit.xml']) {
    assert.ok(
      files.some((path) => path.endsWith(name)),
      name,
    );
  }
  const texts = [
    ...files.map((path) => [path, readFileSync(path, 'utf8')] as const),
    ['console', run.output()] as const,
    ['live', live] as const,
    ['command lines', [...lines].join('\n')] as const,
  ];
  assert.match(live, /socketio_capacity_connections/);
  assert.ok(lines.size > 0);
  const leaks = texts.flatMap(([name, text]) =>
    [...new Set(text.match(/Canary\d+x-[a-z-]+/g))].map((found) => `${found} in ${name}`),
  );
  assert.deepEqual(leaks, []);
});

/** @returns the command lines of all processes that this user can see */
function commandLines(): string[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      return [readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ')];
    } catch {
      return [];
    }
  });
}
