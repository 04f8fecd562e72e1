/** Tests network namespaces without a usable 127.0.0.1. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { execa } from 'execa';
import { tryOrUndefined } from '../../../protocol/base/try-or-undefined.ts';

const canUnshare = tryOrUndefined(() => execFileSync('unshare', ['-n', 'true'])) !== undefined;

const BEFORE = {
  'interface that is up': 'true',
  address: 'ip link set lo up && ip addr del 127.0.0.1/8 dev lo',
};
for (const [what, before] of Object.entries(BEFORE)) {
  test(`the doctor works without a loopback ${what}, and the stack reports the missing address`, {
    skip: !canUnshare,
  }, async () => {
    const module = (path: string) => JSON.stringify(new URL(path, import.meta.url).href);
    const script = `
      import { readDoctorMachine } from ${module('../../../plugin/doctor/check-machine.ts')};
      import { assertPortFree, findFreePorts } from ${module('../../../server/stack/ports.ts')};
      console.log((await readDoctorMachine()).manyLoopbackAddresses);
      for (const work of [() => findFreePorts(1), () => assertPortFree(13999, 'fix')])
        await work().catch(({ code, message, fix }) => console.log(code, message.includes('127.0.0.1'), fix));`;
    const command = `${before} && exec "${process.execPath}" --input-type=module`;
    const { stdout } = await execa('unshare', ['-n', 'sh', '-c', command], { input: script });
    const [many, ...refusals] = stdout.split('\n');
    assert.equal(many, 'false');
    assert.equal(refusals.length, 2);
    for (const line of refusals) assert.match(line, /^PORT_UNAVAILABLE true .*ip link set lo up/);
  });
}
