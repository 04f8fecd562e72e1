/** Tests the image that the Dockerfile describes. It runs in namespaces instead of a container runtime. */
import assert from 'node:assert/strict';
import { existsSync, globSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { execa } from 'execa';
import { EXIT_CODES } from '../../protocol/codes/exit-codes.ts';
import { startApp, TOKEN } from '../helpers/app.ts';
import { Composition } from '../helpers/compose.ts';
import { buildImage, enter, type Image, NO_CONTAINERS } from '../helpers/container.ts';
import { COMPOSE_FILES, DEPLOY, guideDocker } from '../helpers/deploy.ts';
import { whyNoNamespaces } from '../helpers/namespaces.ts';
import { assertGood, latestResult, quickScript } from '../helpers/run.ts';
import { tempFolder } from '../helpers/temp-folder.ts';
import { missingTools } from '../helpers/tools.ts';

const NO_DEPLOYMENT = whyNoNamespaces() || missingTools('nginx', 'redis-server');

describe('the image', { skip: NO_CONTAINERS }, () => {
  let image: Image;
  before(async () => {
    image = await buildImage(join(DEPLOY, 'Dockerfile'));
  });
  after(() => image?.remove());

  it('the image has the programs to run, and no development tools or browsers', () => {
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

  it('the image runs as an unprivileged user, who can write only to /tmp and /results', async () => {
    const script =
      'exec 2>&1; id -u; touch /tmp/a /results/a && echo may; for f in /app/a /a; do touch $f || echo must not; done';
    const { all } = await enter(image, ['sh', '-c', script], { tmpfs: ['/tmp:mode=1777', '/results:mode=1777'] });
    assert.match(all, /^1000\nmay\n.*Read-only.*\nmust not\n.*Read-only.*\nmust not$/s);
  });

  it('the image has a results folder with permissions that any runc passes on to a tmpfs', () => {
    assert.equal(statSync(join(image.root, 'results')).mode & 0o7777, 0o1777);
  });

  it('the image has the command socketio-capacity', async () => {
    const { all, exitCode } = await enter(image, ['socketio-capacity', '--help']);
    assert.match(all, /Usage: npx socketio-capacity/);
    assert.equal(exitCode, 0, all);
  });

  it('the image runs as the docker commands of the guide to several hosts say, and keeps the result', async (t) => {
    const { prepare, build, run } = guideDocker();
    assert.deepEqual(build, { file: 'deploy/Dockerfile', tag: run.image, context: '.' });
    const [folder, { url }] = [tempFolder(t), await startApp(t)];
    await execa('sh', ['-c', prepare], { cwd: folder });
    // Replaces the scenario, which takes a minute and a half.
    const [scenario, path] = [join(folder, 'scenario.json'), join('/app', run.command.at(-1) ?? '')];
    const phases = [{ duration: 1, arrivalRate: 5, rampTo: 5 }];
    writeFileSync(scenario, JSON.stringify(quickScript({ target: 'http://127.0.0.1:9', phases }, { warmUp: 0 })));
    assert.ok(existsSync(join(image.root, path)), path);
    const volumes = run.volume?.map((volume) => volume.replace('$PWD', folder).split(':')) ?? [];
    const env = Object.fromEntries(run.env?.map((variable) => variable.split('=')) ?? []);
    assert.ok(run['read-only'] && env.TARGET);
    const { exitCode, all } = await enter(image, run.command, {
      tmpfs: run.tmpfs?.map((path) => `${path}:mode=1777`),
      openFiles: Number(run.ulimit?.[0]?.replace('nofile=', '')),
      mounts: { ...Object.fromEntries(volumes.map(([from, to]) => [to, from])), [path]: scenario },
      env: { ...env, TARGET: url },
    });
    const result = latestResult(join(folder, 'results')) ?? assert.fail(all);
    assert.deepEqual([result.run.target, result.connections.peak], [url, 5]);
    assert.ok(exitCode === 0 || exitCode === EXIT_CODES.suspect, all);
  });

  it('the image runs both sides of a run with the commands of both Compose files together', {
    skip: NO_DEPLOYMENT,
    timeout: 180_000,
  }, async (t) => {
    const scenario = join(tempFolder(t), 'scenario.json');
    const ramp = { duration: 1, arrivalRate: 15, rampTo: 15 };
    const phases = [ramp, { pause: 2 }, ramp, { pause: 2 }];
    writeFileSync(scenario, JSON.stringify(quickScript({ target: 'http://nginx:8080', phases })));
    const variables = { CAPACITY_TOKEN: TOKEN, SCENARIO: scenario };
    const deployment = new Composition(t, COMPOSE_FILES, image, variables);
    await deployment.up();
    const hosts = ['host', 'host-2', 'host-3'].map(async (name) => {
      const { exitCode, all } = await deployment.ended(name);
      assert.equal(exitCode, 0, all);
    });
    // Waits for the hosts as well. If a host failed, the conductor would wait for it forever.
    const [{ exitCode, all }] = await Promise.all([deployment.ended('conductor'), ...hosts]);
    const result = latestResult(deployment.volume('results')) ?? assert.fail(all);
    assertGood(result, exitCode ?? null, all);
    assert.equal(result.connections.peak, 30);
    assert.equal(result.delivery?.coverage, 1);
    assert.deepEqual(Object.keys(result.connections.perWorker).sort(), ['w0', 'w1']);
  });
});
