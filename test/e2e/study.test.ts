/** `npx socketio-capacity study` with real runs, against a server that is up. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { execa } from 'execa';
import { studySchema } from '../../protocol/documents/study.ts';
import { freePorts } from '../../server/stack/ports.ts';
import { startApp, TOKEN } from '../helpers/app.ts';
import { eventually } from '../helpers/poll.ts';
import { quickScript } from '../helpers/run.ts';

const CLI = join(import.meta.dirname, '../../plugin/hook/cli.js');
const app = await startApp();
after(() => app.close());

/** On a server of one's own, a run with TLS is refused. */
const STUDY = { scenario: 'quick.yml', vary: { TLS: ['off', 'on'] }, repeat: 1 };

it('stops on Ctrl-C, resumes with what is missing, names what was refused, and refuses another study', async (t) => {
  const cwd = mkdtempSync(join(tmpdir(), 'study-'));
  t.after(() => rmSync(cwd, { recursive: true, force: true }));
  const script = quickScript({ target: app.url }, { control: { urls: [app.controlUrl], token: TOKEN } });
  writeFileSync(join(cwd, 'quick.yml'), JSON.stringify(script));
  const write = (study: object) => writeFileSync(join(cwd, 'tiny.yml'), JSON.stringify(study));
  write(STUDY);
  const folder = join(cwd, 'results/study-tiny');
  const read = () => studySchema.parse(JSON.parse(readFileSync(join(folder, 'study.json'), 'utf8')));
  const runs = () => (existsSync(join(folder, 'runs')) ? readdirSync(join(folder, 'runs')) : []);
  /** In a process group of its own, and without a terminal. */
  const start = (hold: number) => {
    const child = execa(process.execPath, [CLI, 'study', 'tiny.yml'], {
      cwd,
      detached: true,
      reject: false,
      all: true,
      timeout: 180_000,
      env: {
        HOLD: String(hold),
        ARTILLERY_DISABLE_TELEMETRY: 'true',
        NODE_OPTIONS: '',
        SOCKETIO_CAPACITY_HOME: join(cwd, 'home'),
      },
    });
    t.after(() => child.kill('SIGKILL'));
    return child;
  };

  const stopped = start(60);
  const latest = join(folder, 'runs/latest/result.json');
  const holds = () => existsSync(latest) && /\(stage: hold\)"/.test(readFileSync(latest, 'utf8'));
  await eventually('the hold of the run without TLS', holds, 90_000);
  process.kill(-(stopped.pid as number), 'SIGINT');
  const { exitCode: stoppedCode, all: stoppedOutput } = await stopped;
  assert.equal(stoppedCode, 130, stoppedOutput);
  assert.throws(() => process.kill(-(stopped.pid as number), 0), { code: 'ESRCH' });
  assert.equal(read().runs.find(({ levels }) => levels.TLS === 'off')?.exitCode, 130);

  const { exitCode, all = '' } = await start(0);
  // That of the refused run.
  assert.equal(exitCode, 2, all);
  assert.match(all, /^Run \d: TLS=off, round 1 of 1; /m);
  assert.match(
    all.replaceAll(/\s+/g, ' '),
    /TLS=on: figures from 0 of 1 run; run \d: CONFIG_INVALID: .* \(exit code 2\)/,
  );
  const study = read();
  const off = study.runs.findLast(({ levels }) => levels.TLS === 'off');
  // A machine that other tests keep busy makes a run suspect, which is no fault of the study.
  assert.match(`${off?.exitCode} ${off?.status}`, /^(0 VALID|3 SUSPECT)$/, all);
  assert.equal(study.combinations.find(({ levels }) => levels.TLS === 'off')?.figures['connections.peak']?.mean, 10);
  for (const file of ['study.md', 'study.html', `logs/${off?.number}.log`])
    assert.ok(existsSync(join(folder, file)), file);

  const before = runs();
  const again = await start(0);
  assert.doesNotMatch(again.all ?? '', /Run \d.*TLS=off/);
  assert.deepEqual(runs(), before);

  write({ ...STUDY, repeat: 2 });
  const changed = await start(0);
  assert.equal(changed.exitCode, 2);
  assert.match(changed.all ?? '', /SERIES_CHANGED: .*\n {2}repeat: was 1, is 2\n/);
});

const SERVER = `
const { createRequire } = require('node:module');
const { Server } = createRequire(process.env.FROM)('socket.io');
new Server(Number(process.env.PORT), { cleanupEmptyChildNamespaces: true }).on('connection', (socket) => {
  socket.on('join_room', (room, acknowledge) => acknowledge?.({}));
});
console.log('server', process.pid);
`;

it('starts a server of the user’s own for its runs, measures its processes, and stops it', async (t) => {
  const cwd = mkdtempSync(join(tmpdir(), 'study-'));
  t.after(() => rmSync(cwd, { recursive: true, force: true }));
  const [port = 0] = await freePorts(1);
  const script = quickScript({ target: `http://127.0.0.1:${port}` }, { broadcasts: { count: 0 } });
  const servers = {
    chat: { command: ['node', 'server.cjs'], ready: port },
    broken: { command: ['node', 'nowhere.cjs'], ready: port },
  };
  const vary = { server: ['chat', 'broken'], PORT: [port], FROM: [import.meta.filename], warmUp: [5] };
  writeFileSync(join(cwd, 'quick.yml'), JSON.stringify(script));
  writeFileSync(join(cwd, 'server.cjs'), SERVER);
  writeFileSync(join(cwd, 'own.yml'), JSON.stringify({ scenario: 'quick.yml', servers, vary, repeat: 1 }));
  const { exitCode, all } = await execa(process.execPath, [CLI, 'study', 'own.yml'], {
    cwd,
    reject: false,
    all: true,
    timeout: 180_000,
    env: { ARTILLERY_DISABLE_TELEMETRY: 'true', NODE_OPTIONS: '', SOCKETIO_CAPACITY_HOME: join(cwd, 'home') },
  });
  assert.equal(exitCode, 2, all);
  assert.match(
    all.replaceAll(/\s+/g, ' '),
    /server=broken, .*figures from 0 of 1 run; run \d: START_FAILED: node nowhere\.cjs has ended/,
  );
  const folder = join(cwd, 'results/study-own');
  const { runs } = studySchema.parse(JSON.parse(readFileSync(join(folder, 'study.json'), 'utf8')));
  const { number, result } = runs.find(({ levels }) => levels.server === 'chat') ?? {};
  const { connections, memory, environment } = JSON.parse(readFileSync(join(folder, result ?? ''), 'utf8'));
  assert.equal(connections.peak, 10, all);
  assert.ok(memory.peakBytes.workerPss > 10e6);
  assert.equal(environment.settings.warmUp, 5);
  const [, pid] = /^server (\d+)$/m.exec(readFileSync(join(folder, `logs/${number}.server.log`), 'utf8')) ?? [];
  assert.throws(() => process.kill(Number(pid), 0), { code: 'ESRCH' });
});
