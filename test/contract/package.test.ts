/**
 * Tests the npm packages as users get them: packed and installed into empty projects by `npm run release -- --dry-run`,
 * and run there.
 */
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { execa } from 'execa';
import * as packages from '../helpers/packages.ts';
import { ROOT } from '../helpers/pages.ts';
import { goodResult, quickScript, startRun } from '../helpers/run.ts';
import { tempStateDir } from '../helpers/stack.ts';
import { tempFolder } from '../helpers/temp-folder.ts';

const { ENGINE, HOOK, INSTRUMENT } = packages;
const FOLDERS = { [ENGINE]: 'plugin/engine', [HOOK]: 'plugin/hook', [INSTRUMENT]: 'server/instrument-package' };
const REMOTE = { key: 'remote.origin.url', value: 'git@git.example.org:group/socketio-capacity.git' };
/** Path of a program beside the code that starts it. */
const STARTED = /`([\w./-]+)\$\{(?:extname\(import\.meta\.filename\)|moduleSuffix)\}`/g;
const SITE = 'https://git.example.org/group/socketio-capacity';

const folder = tempFolder({ after });
const project = (name: string) => join(folder, name);
const installed = (name: string) => join(project(name), 'node_modules', name);
const manifestOf = (name: string) => JSON.parse(readFileSync(join(installed(name), 'package.json'), 'utf8'));

before(async () => {
  const env = { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: REMOTE.key, GIT_CONFIG_VALUE_0: REMOTE.value };
  const { stdout } = await execa('npm', ['run', 'release', '--', '--dry-run', folder], { cwd: ROOT, env });
  assert.match(stdout, /can be installed as its READMEs say(.|\n)*npm publish .*instrument-/);
});

for (const [name, directory] of Object.entries(FOLDERS)) {
  describe(`${name}, packed`, () => {
    it(`the packed ${name} depends exactly on the packages that it imports`, () => {
      const { dependencies, peerDependencies } = manifestOf(name);
      const found = globSync('dist/**/*.js', { cwd: installed(name) }).flatMap((file) =>
        packages.packagesOf(join(installed(name), file)),
      );
      const used = new Set(found.filter((imported) => !(imported in peerDependencies)));
      // Artillery loads the engine, so no import of it can be found.
      if (name === HOOK) used.add(ENGINE);
      assert.deepEqual([...used].sort(), Object.keys(dependencies).sort());
    });

    it(`the packed ${name} contains the programs that it starts as processes`, () => {
      const dist = join(installed(name), 'dist');
      const missing = globSync('**/*.js', { cwd: dist }).flatMap((file) =>
        [...readFileSync(join(dist, file), 'utf8').matchAll(STARTED)]
          .map(([, program = '']) => join(dirname(file), `${program}.js`))
          .filter((program) => !existsSync(join(dist, program))),
      );
      assert.deepEqual(missing, []);
    });

    it(`the packed ${name} runs no install script`, () => {
      assert.deepEqual(packages.withInstallScripts(project(name)), []);
    });

    it(`the packed ${name} has types and no TypeScript sources`, () => {
      const files = globSync('**/*.{ts,cts,mts}', { cwd: installed(name), exclude: ['node_modules/**'] });
      assert.ok(files.length > 0 && files.every((file) => /\.d\.c?ts$/.test(file)), files.join());
    });

    it(`the packed ${name} has a description, a license, a README and the address of its sources`, () => {
      const { description, keywords, license, engines, exports, publishConfig } = manifestOf(name);
      assert.ok(description && keywords.length > 3 && engines.node && exports['.'], JSON.stringify(manifestOf(name)));
      assert.deepEqual([license, publishConfig], ['MIT', { access: 'public' }]);
      const { repository, homepage, bugs } = manifestOf(name);
      assert.deepEqual(repository, { type: 'git', url: `git+${SITE}.git`, directory });
      assert.deepEqual([homepage, bugs], [`${SITE}#readme`, `${SITE}/issues`]);
      assert.match(readFileSync(join(installed(name), 'LICENSE'), 'utf8'), /^MIT License/);
      const readme = readFileSync(join(installed(name), 'README.md'), 'utf8');
      assert.ok(readme.startsWith(`# ${name}\n`) && readme.includes('npm install'));
    });
  });
}

describe('the plugin in a project', () => {
  const cli = (env: Record<string, string>, ...args: string[]) =>
    execa(process.execPath, [join(installed(HOOK), 'cli.js'), ...args], { env, reject: false });

  it('the installed plugin contains the files of the stack and the scenarios', () => {
    const files = [
      ...['nginx/nginx.conf.template', 'ecosystem.config.js', 'server/main.js', 'server/stack/keeper.js'],
      ...['server/stack/setup.js', 'plugin/live/page/index.html'],
    ].map((file) => `dist/${file}`);
    for (const file of [...files, 'scenarios/1k.yml', 'scenarios/studies/tls.yml'])
      assert.ok(existsSync(join(installed(HOOK), file)), file);
  });

  it('the installed plugin reports a missing PM2 before it starts anything', async (t) => {
    const stateDir = tempStateDir(t);
    const env = { SOCKETIO_CAPACITY_HOME: stateDir };
    const { exitCode, stderr } = await cli(env, 'stack', 'up', '--profile', 'embedded', '--port', '0');
    assert.equal(exitCode, 2);
    assert.match(stderr, /NOT_INSTALLED.*fix: npm install pm2/s);
    assert.deepEqual(globSync(stateDir), []);
  });

  it('the installed plugin requires the engine of its own version, from the same build', () => {
    assert.equal(manifestOf(HOOK).dependencies[ENGINE], manifestOf(HOOK).version);
    const builds = [HOOK, ENGINE].map((name) => readFileSync(join(installed(name), 'dist/build'), 'utf8'));
    assert.equal(builds[0], builds[1]);
    assert.match(builds[0] ?? '', /^[0-9a-f]{12}$/);
  });

  it('the installed plugin reports a missing Artillery if a command needs it', async () => {
    const scenario = join(installed(HOOK), 'scenarios/1k.yml');
    const study = join(installed(HOOK), 'scenarios/studies/tls.yml');
    for (const [command, file] of Object.entries({ doctor: scenario, study })) {
      const { exitCode, stderr } = await cli({}, command, file);
      assert.equal(exitCode, 2);
      assert.match(stderr, /NOT_INSTALLED.*fix: npm install artillery/s);
    }
  });

  it('a run with the installed packages completes', async (t) => {
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
