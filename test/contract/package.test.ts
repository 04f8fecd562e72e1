/** Both npm packages as a user gets them: packed, installed into an empty project beside artillery, and run there. */
import assert from 'node:assert/strict';
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { execa } from 'execa';
import { freePorts } from '../../server/stack/ports.ts';
import { goodResult, quickScript, startRun, strays } from '../helpers/run.ts';

const root = join(import.meta.dirname, '../..');
const ENGINE = 'artillery-engine-socketio-capacity';
const HOOK = 'artillery-plugin-socketio-capacity';

let project = '';
const modules = () => join(project, 'node_modules');
const artillery = () => join(modules(), 'artillery/bin/run');

before(async () => {
  project = mkdtempSync(join(tmpdir(), 'package-'));
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error'];
  await execa('npm', ['pack', '-w', 'plugin/engine', '-w', 'plugin/hook', '--pack-destination', project, ...quiet], {
    cwd: root,
  });
  const tarballs = readdirSync(project).filter((name) => name.endsWith('.tgz'));
  assert.equal(tarballs.length, 2);
  writeFileSync(join(project, 'package.json'), '{"private": true}');
  await execa('npm', ['install', '--prefer-offline', '--legacy-peer-deps', '--ignore-scripts', ...quiet, ...tarballs], {
    cwd: project,
  });
  installArtillery();
});
after(() => rmSync(project, { recursive: true, force: true }));

/**
 * Artillery as `npm install artillery` would place it, without the download of its 500 packages: a copy of its own
 * files, and below them links to what it needs. Only it sees those: our packages have what they brought themselves.
 */
function installArtillery(): void {
  const source = dirname(createRequire(import.meta.url).resolve('artillery/package.json'));
  const target = join(modules(), 'artillery');
  cpSync(source, target, { recursive: true });
  const nested = join(target, 'node_modules');
  mkdirSync(nested, { recursive: true });
  const installed = dirname(source);
  const present = new Set(readdirSync(nested));
  for (const name of readdirSync(installed)) {
    if ([ENGINE, HOOK, 'artillery', '.bin'].includes(name) || present.has(name)) continue;
    symlinkSync(join(installed, name), join(nested, name));
  }
}

/** Names of the packages that a file's code imports. */
function packagesOf(path: string): string[] {
  const text = readFileSync(path, 'utf8');
  const imports = text.matchAll(
    /^\s*(?:import|export)\b[^;]*?\bfrom\s+['"]([^'"]+)['"]|(?:import|createRequire\(import\.meta\.url\)\.resolve)\(['"]([^'"]+)['"]\)/gm,
  );
  return [...imports]
    .map((match) => match[1] ?? match[2] ?? '')
    .filter((name) => !/^(\.|node:|$)/.test(name))
    .map((name) =>
      name
        .split('/')
        .slice(0, name.startsWith('@') ? 2 : 1)
        .join('/'),
    );
}

describe('the packed packages', () => {
  for (const name of [ENGINE, HOOK]) {
    it(`${name} asks for what it imports, and for nothing else`, () => {
      const folder = join(modules(), name);
      const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
      const found = globSync('dist/**/*.js', { cwd: folder }).flatMap((file) => packagesOf(join(folder, file)));
      const used = new Set(found.filter((imported) => !(imported in (peerDependencies ?? {}))));
      assert.deepEqual([...used].sort(), Object.keys(dependencies).sort());
    });

    it(`${name} has types and no TypeScript sources`, () => {
      const sources = globSync('**/*.ts', { cwd: join(modules(), name), exclude: ['node_modules/**'] });
      assert.deepEqual(
        sources.filter((file) => !file.endsWith('.d.ts')),
        [],
      );
      assert.ok(sources.length > 0);
    });
  }

  it('bring what the stack and the scenarios need', () => {
    const files = [
      'dist/nginx/nginx.conf.template',
      'dist/ecosystem.config.js',
      'dist/server/main.js',
      'dist/server/stack/keeper.js',
      'dist/server/stack/setup.js',
      'dist/plugin/hook/live-view/page/index.html',
      'scenarios/1k.yml',
    ];
    const folder = join(modules(), HOOK);
    assert.deepEqual(
      files.filter((file) => globSync(file, { cwd: folder }).length === 0),
      [],
    );
  });

  for (const profile of ['embedded', 'full'] as const) {
    it(`run, with the ${profile} profile`, async (t) => {
      const [port] = await freePorts(1);
      const script = quickScript({ target: `http://127.0.0.1:${port}` }, { profile });
      const run = startRun(t, { script, artillery: artillery() });
      await run.reached('hold');
      const state = run.stack();
      const command = readFileSync(`/proc/${state?.workers[0]?.pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
      assert.ok(command.includes(join(HOOK, 'dist/server/main.js')), `a worker of the package: ${command}`);
      const result = await goodResult(run);
      assert.equal(result.run.profile, profile);
      assert.equal(result.connections.peak, 10);
      assert.equal(result.delivery?.coverage, 1);
      assert.doesNotMatch(run.output(), /warning/i);
      assert.deepEqual(strays(run), []);
    });
  }
});
