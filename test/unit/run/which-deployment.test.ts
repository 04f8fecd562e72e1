import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { whichDeployment } from '../../../plugin/run/target/which-deployment.ts';
import type { CapacityError } from '../../../protocol/codes/errors.ts';
import { Stack, type StackState } from '../../../server/stack/stack.ts';
import { STACK_CODE_FOLDER } from '../../../server/stack/start.ts';
import { hookConfig } from '../../helpers/measurements.ts';
import { listen } from '../../helpers/raw-listen.ts';
import { freePort } from '../../helpers/redis.ts';

const DOWN = { status: 'down' } as const;

function upAt(port: number, changes: Partial<StackState> = {}) {
  const state = { target: `http://127.0.0.1:${port}`, checkout: STACK_CODE_FOLDER, ...changes } as StackState;
  return { status: 'up', stack: new Stack('/nowhere', state) } as const;
}

const stackAt = (port: number, env: NodeJS.ProcessEnv = {}) =>
  hookConfig({ stack: { port } }, { target: `http://127.0.0.1:${port}` }, env);

async function refusal(settings: ReturnType<typeof stackAt>, found: Parameters<typeof whichDeployment>[1] = DOWN) {
  const error = await whichDeployment(settings, found).then(
    () => assert.fail('it is not refused'),
    (thrown: CapacityError) => thrown,
  );
  return `${error.code}: ${error.message}\n${error.fix}`;
}

const foreign = (t: TestContext, host?: string) => listen(t, createServer(), host);

test('a run at a free port starts no stack, but the option `stack` starts one', async () => {
  const port = await freePort();
  const target = `http://127.0.0.1:${port}`;
  assert.deepEqual(await whichDeployment(hookConfig({}, { target }), DOWN), { kind: 'own' });
  assert.deepEqual(await whichDeployment(stackAt(port, { TARGET: target }), DOWN), { kind: 'own' });
  const profile = { PROFILE: 'embedded' };
  const planned = { kind: 'planned', port, profile: 'embedded', missing: [] };
  assert.deepEqual(await whichDeployment(stackAt(port, profile), DOWN), planned);
});

test('refuses a port that another program uses, with its name and pid, and suggests TARGET', async (t) => {
  const port = await foreign(t);
  const refusalText = await refusal(stackAt(port));
  assert.match(
    refusalText,
    new RegExp(`^PORT_UNAVAILABLE: port ${port} .* taken by \\S.* \\(pid ${process.pid}\\)\\n`),
  );
  assert.match(refusalText, new RegExp(`TARGET=http://127\\.0\\.0\\.1:${port}; .*STACK_PORT=${port + 1}$`));
  const ownTarget = stackAt(port, { TARGET: `http://127.0.0.1:${port}` });
  assert.deepEqual(await whichDeployment(ownTarget, DOWN), { kind: 'own' });
});

test('a listener on all addresses occupies the port, but a listener on ::1 alone leaves it free', async (t) => {
  assert.match(await refusal(stackAt(await foreign(t, '::'))), new RegExp(`pid ${process.pid}`));
  const port = await foreign(t, '::1');
  assert.equal((await whichDeployment(stackAt(port), DOWN)).kind, 'planned');
});

test('uses the stack of this checkout at its port, also through its address in TARGET', async (t) => {
  const port = await foreign(t);
  const found = upAt(port);
  const used = { kind: 'up', stack: found.stack };
  assert.deepEqual(await whichDeployment(stackAt(port), found), used);
  const { checkout: _, ...older } = found.stack.state;
  assert.equal((await whichDeployment(stackAt(port), upAt(port, older))).kind, 'up', 'an older one names no checkout');
  for (const host of ['127.0.0.1', 'localhost'])
    assert.deepEqual(await whichDeployment(hookConfig({}, { target: `http://${host}:${port}` }), found), used);
  for (const target of [`http://127.0.0.5:${port}`, `https://127.0.0.1:${port}`])
    assert.deepEqual(await whichDeployment(hookConfig({}, { target }), found), { kind: 'own' }, target);
});

test('refuses a stack of another checkout, and reports a stack at another port', async (t) => {
  const port = await foreign(t);
  const other = upAt(port, { checkout: '/srv/other' });
  assert.match(await refusal(stackAt(port), other), /^PORT_UNAVAILABLE: .*another checkout, \/srv\/other\n.*TARGET=/);
  assert.deepEqual(await whichDeployment(hookConfig({}, { target: `http://127.0.0.1:${port}` }), other), {
    kind: 'own',
  });
  assert.match(await refusal(stackAt(port), upAt(9)), /^STACK_RUNNING: .*127\.0\.0\.1:9\nuse it: STACK_PORT=9; or/);
});

test('replaces the default profile by the embedded one if nginx or Redis is missing', async () => {
  const port = await freePort();
  const { chooseProfile, requiredProfile } = await import('../../../server/stack/profile.ts');
  const nowhere = ['/nowhere'];
  const missing = ['nginx', 'redis-server'];
  assert.deepEqual(chooseProfile(undefined, nowhere), { profile: 'embedded', missing });
  assert.deepEqual(chooseProfile('full', nowhere), { profile: 'full', missing: [] });
  for (const needs of [
    { tls: true },
    { workers: 2 },
    { redisUrl: 'redis://a' },
    { redisNodes: 3 },
    { adapter: 'redis' },
  ])
    assert.equal(requiredProfile(needs), 'full', JSON.stringify(needs));
  assert.equal(requiredProfile({ workers: 1, redisNodes: 1, adapter: 'in-memory' }), undefined);
  const twoWorkers = hookConfig({ stack: { port }, workers: 2 }, { target: `http://127.0.0.1:${port}` });
  const which = await whichDeployment(twoWorkers, DOWN);
  assert.deepEqual(which, { kind: 'planned', port, profile: 'full', missing: [] });
});
