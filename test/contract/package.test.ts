/** The npm packages as users get them: packed, installed into empty projects, and run there. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, it } from 'node:test';
import { execa } from 'execa';
import type { WorkerStats } from '../../protocol/events.ts';
import { ask, connectControl, TOKEN } from '../helpers/app.ts';
import * as packages from '../helpers/packages.ts';
import { ROOT } from '../helpers/pages.ts';
import { goodResult, quickScript, startRun } from '../helpers/run.ts';
import { tempStateDir } from '../helpers/stack.ts';

const { ENGINE, HOOK, INSTRUMENT } = packages;
let folder = '';
let tarballs: Record<string, string> = {};
const project = (name: string) => join(folder, `beside-${name}`);
const installed = (name: string) => join(project(name), 'node_modules', name);
const manifestOf = (name: string) => JSON.parse(readFileSync(join(installed(name), 'package.json'), 'utf8'));

before(async () => {
  ({ folder, tarballs } = await packages.packAll());
  for (const [name, tarball] of Object.entries(tarballs)) {
    // The plugin depends on the engine, which only a registry could bring by itself.
    await packages.install(project(name), ...(name === HOOK ? [tarballs[ENGINE] as string] : []), tarball);
  }
});
after(() => rmSync(folder, { recursive: true, force: true }));

for (const name of [ENGINE, HOOK, INSTRUMENT]) {
  describe(`${name}, packed`, () => {
    it('depends on what it imports, and on nothing else', () => {
      const { dependencies, peerDependencies } = manifestOf(name);
      const found = globSync('dist/**/*.js', { cwd: installed(name) }).flatMap((file) =>
        packages.packagesOf(join(installed(name), file)),
      );
      const used = new Set(found.filter((imported) => !(imported in peerDependencies)));
      // Artillery loads it.
      if (name === HOOK) used.add(ENGINE);
      assert.deepEqual([...used].sort(), Object.keys(dependencies).sort());
    });

    it('runs no install script, which could download something', () => {
      assert.deepEqual(packages.withInstallScripts(project(name)), []);
    });

    it('has types and no TypeScript sources', () => {
      const files = globSync('**/*.{ts,cts,mts}', { cwd: installed(name), exclude: ['node_modules/**'] });
      assert.ok(files.length > 0 && files.every((file) => /\.d\.c?ts$/.test(file)), files.join());
    });

    it('says what it is', () => {
      const { description, keywords, license, engines, exports, publishConfig } = manifestOf(name);
      assert.ok(description && keywords.length > 3 && engines.node && exports['.'], JSON.stringify(manifestOf(name)));
      assert.deepEqual([license, publishConfig], ['MIT', { access: 'public' }]);
      assert.match(readFileSync(join(installed(name), 'LICENSE'), 'utf8'), /^MIT License/);
      const readme = readFileSync(join(installed(name), 'README.md'), 'utf8');
      assert.ok(readme.startsWith(`# ${name}\n`) && readme.includes('npm install'));
    });
  });
}

describe('the plugin in a project', () => {
  const cli = (env: Record<string, string>, ...args: string[]) =>
    execa(process.execPath, [join(installed(HOOK), 'cli.js'), ...args], { env, reject: false });

  it('installs what the stack and the scenarios need', () => {
    const files = [
      ...['nginx/nginx.conf.template', 'ecosystem.config.js', 'server/main.js', 'server/stack/keeper.js'],
      ...['server/stack/setup.js', 'plugin/live/page/index.html'],
    ].map((file) => `dist/${file}`);
    for (const file of [...files, 'scenarios/1k.yml', 'scenarios/studies/tls.yml'])
      assert.ok(existsSync(join(installed(HOOK), file)), file);
  });

  it('still exports instrument, which has its own package now', async () => {
    const code = `import { instrument } from '${HOOK}/instrument'; console.log(typeof instrument);`;
    const { stdout } = await execa(process.execPath, ['--input-type=module', '-e', code], { cwd: project(HOOK) });
    assert.equal(stdout, 'function');
  });

  it('reports a missing PM2 before it starts anything', async (t) => {
    const stateDir = tempStateDir(t);
    const env = { SOCKETIO_CAPACITY_HOME: stateDir };
    const { exitCode, stderr } = await cli(env, 'stack', 'up', '--profile', 'embedded', '--port', '0');
    assert.equal(exitCode, 2);
    assert.match(stderr, /NOT_INSTALLED.*fix: npm install pm2/s);
    assert.deepEqual(globSync(stateDir), []);
  });

  it('needs the engine of its own version, and is of the same build', () => {
    assert.equal(manifestOf(HOOK).dependencies[ENGINE], manifestOf(HOOK).version);
    const builds = [HOOK, ENGINE].map((name) => readFileSync(join(installed(name), 'dist/build'), 'utf8'));
    assert.equal(builds[0], builds[1]);
    assert.match(builds[0] ?? '', /^[0-9a-f]{12}$/);
  });

  it('reports a missing Artillery where it is needed', async () => {
    const scenario = join(installed(HOOK), 'scenarios/1k.yml');
    const study = join(installed(HOOK), 'scenarios/studies/tls.yml');
    for (const [command, file] of Object.entries({ doctor: scenario, repeat: scenario, study })) {
      const { exitCode, stderr } = await cli({}, command, file);
      assert.equal(exitCode, 2);
      assert.match(stderr, /NOT_INSTALLED.*fix: npm install artillery/s);
    }
  });

  it('runs with all that a run needs', async (t) => {
    for (const name of ['artillery', 'pm2']) packages.place(project(HOOK), name);
    const run = startRun(t, {
      script: quickScript(),
      artillery: join(project(HOOK), 'node_modules/artillery/bin/run'),
    });
    await run.reached('ramp');
    const command = readFileSync(`/proc/${run.stack()?.workers[0]?.pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
    assert.ok(command.includes(join(HOOK, 'dist/server/main.js')), `a worker of the package: ${command}`);
    const { connections, delivery } = await goodResult(run);
    assert.deepEqual([connections.peak, delivery?.coverage], [10, 1]);
    assert.doesNotMatch(run.output(), /warning/i);
  });
});

describe('instrument in a project', () => {
  const serving = `
    const io = new Server(createServer().listen(0, '127.0.0.1'));
    instrument(io, { token: '${TOKEN}', worker: 'w0' }).then(({ controlPort }) => console.log(controlPort));`;
  const servers = {
    'server.mjs': `
      import { createServer } from 'node:http';
      import { Server } from 'socket.io';
      import { instrument } from '${INSTRUMENT}'; ${serving}`,
    'server.cjs': `
      const { createServer } = require('node:http');
      const { Server } = require('socket.io');
      const { instrument } = require('${INSTRUMENT}'); ${serving}`,
  };
  const oldest = { node: '18.2.0', socketIo: '4.6.0' };

  it('needs two libraries, and names the oldest Node and Socket.IO that it is tested with', () => {
    const { dependencies, engines, peerDependencies } = manifestOf(INSTRUMENT);
    assert.deepEqual(Object.keys(dependencies).sort(), ['prom-client', 'zod']);
    assert.equal(engines.node, `>=${oldest.node}`);
    assert.equal(peerDependencies['socket.io'], `^${oldest.socketIo}`);
  });

  for (const age of ['newest', 'oldest'] as const) {
    describe(`with the ${age} Node and Socket.IO`, () => {
      const home = () => (age === 'newest' ? project(INSTRUMENT) : join(folder, 'oldest'));
      const node = () => (age === 'newest' ? process.execPath : join(home(), 'node_modules/.bin/node'));
      before(async () => {
        const old = [`node@${oldest.node}`, `socket.io@${oldest.socketIo}`];
        if (age === 'oldest') await packages.install(home(), tarballs[INSTRUMENT] as string, ...old);
      });

      for (const [file, code] of Object.entries(servers)) {
        it(`works in ${file}`, async (t) => {
          writeFileSync(join(home(), file), code);
          const server = execa(node(), [file], { cwd: home(), reject: false });
          const ended = server.then(({ stderr }) => Promise.reject(new Error(stderr)));
          t.after(async () => {
            server.kill();
            await ended.catch(() => {});
          });
          const [line] = await Promise.race([once(createInterface(server.stdout), 'line'), ended]);
          const health = await fetch(`http://127.0.0.1:${line}/healthz`);
          assert.deepEqual(await health.json(), { status: 'ok', worker: 'w0' });
          const control = await connectControl(Number(line));
          t.after(() => control.disconnect());
          assert.ok((await ask<{ durationMs: number }>(control, 'gc')).durationMs > 0);
          const { versions } = await ask<WorkerStats>(control, 'stats');
          if (age === 'oldest') assert.partialDeepStrictEqual(versions, oldest);
          else assert.equal(versions.node, process.versions.node);
          assert.match(versions.webSocketEngine, /^ws \d/);
        });
      }
    });
  }

  it('has types for import and require', async () => {
    const code = `
      import { createServer } from 'node:http';
      import { Server } from 'socket.io';
      import { type Instrumentation, type InstrumentOptions, instrument } from '${INSTRUMENT}';
      const io = new Server<{ hello: (name: string) => void }>(createServer());
      const options: InstrumentOptions = { token: '${TOKEN}', controlPort: process.env.PORT };
      export const done: Promise<Instrumentation> = instrument(io, options);
      done.then(({ controlPort, registry, close }) => [controlPort.toFixed(), registry.metrics(), close()]);
      // @ts-expect-error a token is text
      instrument(io, { token: 1 });`;
    const files = ['types.mts', 'types.cts'];
    for (const file of files) writeFileSync(join(project(INSTRUMENT), file), code);
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    const options = ['--noEmit', '--strict', '--target', 'es2022', '--types', 'node', '--module', 'node16'];
    const { all } = await execa(process.execPath, [tsc, ...options, ...files], {
      cwd: project(INSTRUMENT),
      all: true,
      reject: false,
    });
    assert.equal(all, '');
  });
});
