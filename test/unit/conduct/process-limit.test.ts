/** Tests a process limit that prevents the start. The error has a code and a fix, and does not ask for a bug report. */
import assert from 'node:assert/strict';
import childProcess from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';
import { it } from 'node:test';
import { toCapacityError } from '../../../plugin/conduct/incomplete.ts';
import { Fleet } from '../../../plugin/fleet/fleet.ts';
import { fleetSettings } from '../../helpers/fleet.ts';

for (const [code, syscall, expected] of [
  ['EAGAIN', 'spawn /usr/bin/node', 'LIMIT_TOO_LOW'],
  ['ENOMEM', 'spawn sh', 'LIMIT_TOO_LOW'],
  ['EMFILE', 'spawnSync git', 'LIMIT_TOO_LOW'],
  ['ENOENT', 'spawn nood', 'UNEXPECTED'],
  ['EAGAIN', 'read', 'UNEXPECTED'],
] as const) {
  it(`reports the error ${code} of ${syscall} before the load as ${expected}`, () => {
    const failure = toCapacityError(Object.assign(new Error(`${syscall} ${code}`), { code, syscall }));
    assert.equal(failure.code, expected);
    assert.ok(failure.message.includes(`${syscall} ${code}`));
  });
}

it('reports the process limit, not a dead process, if no fleet process can be started', async (t) => {
  const { fork } = childProcess;
  t.after(() => {
    childProcess.fork = fork;
    syncBuiltinESMExports();
  });
  childProcess.fork = () => {
    const child = Object.assign(new childProcess.ChildProcess(), { exitCode: -11, send: () => false });
    const error = Object.assign(new Error('spawn node EAGAIN'), { code: 'EAGAIN', syscall: 'spawn node' });
    process.nextTick(() => child.emit('error', error));
    return child;
  };
  syncBuiltinESMExports();
  await assert.rejects(Fleet.start(fleetSettings('http://127.0.0.1:1'), 2), { code: 'LIMIT_TOO_LOW' });
});
