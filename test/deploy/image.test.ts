/** The image as its Dockerfile makes it, in namespaces in place of a container runtime; takes some minutes. */
import assert from 'node:assert/strict';
import { chownSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { parseJoinLine } from '../../plugin/conduct/hosts/join-line.ts';
import { freePorts } from '../../server/stack/ports.ts';
import { TOKEN } from '../helpers/app.ts';
import { buildImage, enter, type Image, NO_CONTAINERS } from '../helpers/container.ts';
import { composeServices, DEPLOY } from '../helpers/deploy.ts';
import { eventually } from '../helpers/poll.ts';
import { latestResult, reasonsOfServer } from '../helpers/run.ts';

describe('the image', { skip: NO_CONTAINERS }, () => {
  let image: Image;
  let results = '';
  before(async () => {
    image = await buildImage(join(DEPLOY, 'Dockerfile'));
    results = mkdtempSync(join(tmpdir(), 'results-'));
    chownSync(results, 1000, 1000);
  });
  after(() => {
    image?.remove();
    rmSync(results, { recursive: true, force: true });
  });

  it('has what runs, and nothing that develops or browses', () => {
    const modules = readdirSync(join(image.root, 'app/node_modules'));
    const expected = ['artillery', 'artillery-engine-socketio-capacity', 'artillery-plugin-socketio-capacity'];
    assert.deepEqual(
      expected.filter((name) => !modules.includes(name)),
      [],
    );
    assert.deepEqual(
      modules.filter((name) => /^(typescript|esbuild|vitepress|@biomejs|node)$/.test(name)),
      [],
    );
    assert.deepEqual(globSync('**/{chrome,headless_shell,chrome-linux*}', { cwd: join(image.root, 'app') }), []);
    assert.deepEqual(readdirSync(join(image.root, 'app')).sort(), ['make-join.mjs', 'node_modules', 'scenarios']);
  });

  it('runs as nobody special, who can write nowhere but in /tmp and /results', async () => {
    const script =
      'exec 2>&1; id -u; touch /tmp/a /results/a && echo may; for f in /app/a /a; do touch $f || echo must not; done';
    const { all } = await enter(image, ['sh', '-c', script], { results });
    assert.match(all, /^1000\nmay\n.*Read-only.*\nmust not\n.*Read-only.*\nmust not$/s);
  });

  it('has a folder for results of which any runc makes a tmpfs that this user may write to', () => {
    assert.equal(statSync(join(image.root, 'results')).mode & 0o7777, 0o1777);
  });

  for (const [command, expected] of [
    [['socketio-capacity', '--help'], /Usage: npx socketio-capacity/],
    [['artillery', '--version'], /Artillery/i],
  ] as const) {
    it(`has the command ${command[0]}`, async () => {
      const { all, exitCode } = await enter(image, [...command]);
      assert.match(all, expected);
      assert.equal(exitCode, 0, all);
    });
  }

  it('makes what conductor and agents of Compose have to agree on', async () => {
    const script = 'mkdir /results/join && node make-join.mjs /results/join conductor:3401 && cat /results/join/line';
    const { all } = await enter(image, ['sh', '-c', script], { results });
    assert.equal(parseJoinLine(all)?.host, 'conductor', all);
    assert.equal(parseJoinLine(all)?.token, readFileSync(join(results, 'join/token'), 'utf8'));
  });

  it('is worker and generator of a run, by the commands of Compose', async (t) => {
    const [port, controlPort] = (await freePorts(2)).map(String) as [string, string];
    const { command, environment } = composeServices('compose.deployment.yml').w0 as {
      command: string[];
      environment: Record<string, string>;
    };
    const { REDIS_URL: _, ...rest } = environment;
    const worker = enter(image, command, {
      env: { ...rest, CAPACITY_TOKEN: TOKEN, CAPACITY_PORT: port, CAPACITY_CONTROL_PORT: controlPort },
    });
    t.after(async () => {
      worker.kill('SIGKILL');
      await worker;
    });
    const isUp = () =>
      fetch(`http://127.0.0.1:${controlPort}/healthz`)
        .then(({ ok }) => ok)
        .catch(() => false);
    await eventually('the worker is up', isUp, 20_000);

    const { all } = await enter(image, ['artillery', 'run', 'scenarios/smoke.yml'], {
      results,
      env: {
        ARTILLERY_DISABLE_TELEMETRY: 'true',
        TARGET: `http://127.0.0.1:${port}`,
        CAPACITY_CONTROL: `http://127.0.0.1:${controlPort}`,
        CAPACITY_TOKEN: TOKEN,
      },
    });
    const result = latestResult(results) ?? assert.fail(all);
    assert.deepEqual(reasonsOfServer(result), [], all);
    assert.equal(result.connections.peak, 50);
    assert.equal(result.delivery?.coverage, 1);
    assert.deepEqual(Object.keys(result.connections.perWorker), ['w0']);
  });
});
