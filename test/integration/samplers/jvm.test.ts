/** Tests heaps of JVMs through their attach protocol, which needs no JDK. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { Inspectors, isInspectable } from '../../../plugin/samplers/inspector/inspectors.ts';
import { parseUsedHeapBytes } from '../../../plugin/samplers/inspector/jvm.ts';
import { startProcess } from '../../helpers/process.ts';
import { tempFolder } from '../../helpers/temp-folder.ts';

const hasJava = process.platform === 'linux' && spawnSync('java', ['-version']).status === 0;
const KEPT_BYTES = 8_000_000;

/** Program that keeps an array for every byte of its input, and makes as much garbage. */
const KEEPER = `
import java.util.*;
public class Keeper {
  public static void main(String[] args) throws Exception {
    List<byte[]> kept = new ArrayList<>();
    System.out.println("ready");
    while (System.in.read() >= 0) {
      kept.add(new byte[${KEPT_BYTES}]);
      byte[] garbage = new byte[${KEPT_BYTES}];
      System.out.println("kept " + garbage.length);
    }
  }
}`;

async function startKeeper(t: TestContext, ...options: string[]) {
  const path = join(tempFolder(t), 'Keeper.java');
  writeFileSync(path, KEEPER);
  const keeper = startProcess(t, 'java', ['-Xmx128m', ...options, path], { stdio: ['pipe', 'pipe', 'pipe'] });
  await once(keeper.child, 'spawn');
  await keeper.said(/ready/);
  return keeper;
}

describe('the heap of a JVM', { skip: !hasJava && 'there is no Java' }, () => {
  it('reads the heap of a JVM without its garbage', async (t) => {
    const keeper = await startKeeper(t);
    const inspectors = await Inspectors.connect({ pids: async () => [keeper.pid] });
    t.after(() => inspectors.close());
    const collected = async () => {
      await inspectors.gc();
      return (await inspectors.memory())[0]?.heapUsedBytes ?? Number.NaN;
    };
    assert.equal(await isInspectable(keeper.pid), true);
    const before = await collected();
    keeper.child.stdin?.write('1');
    await keeper.said(/kept/);
    const growth = (await collected()) - before;
    assert.ok(Math.abs(growth - KEPT_BYTES) < 0.2 * KEPT_BYTES, `${growth} bytes`);
    assert.deepEqual([inspectors.runtime, inspectors.size], ['jvm', 1]);
    assert.deepEqual(await inspectors.stats(), [
      { worker: `process ${keeper.pid}`, collections: 2, failure: undefined },
    ]);
    await assert.rejects(inspectors.startProfiles('heap'), /cannot be profiled: only Node and Deno can/);
  });

  it('reads the heap of a JVM without a signal if the JVM catches none', async (t) => {
    const keeper = await startKeeper(t, '-Xrs');
    const inspectors = await Inspectors.connect({ pids: async () => [keeper.pid] });
    t.after(() => inspectors.close());
    keeper.child.stdin?.write('1');
    await keeper.said(/kept/);
  });

  it('reads the heap of a JVM without changing the file to which a link in /tmp leads', async (t) => {
    const keeper = await startKeeper(t);
    const [link, other] = [`/tmp/.attach_pid${keeper.pid}`, join(tempFolder(t), 'other')];
    writeFileSync(other, 'content');
    symlinkSync(other, link);
    t.after(() => rmSync(link, { force: true }));
    const inspectors = await Inspectors.connect({ pids: async () => [keeper.pid] }).catch(() => undefined);
    await inspectors?.close();
    assert.equal(readFileSync(other, 'utf8'), 'content');
    assert.equal(readlinkSync(link), other);
  });

  it('a JVM that forbids attaching refuses the reading of its heap, and continues', async (t) => {
    const keeper = await startKeeper(t, '-XX:+DisableAttachMechanism');
    await assert.rejects(Inspectors.connect({ pids: async () => [keeper.pid] }), { code: 'INSPECTOR_SILENT' });
    keeper.child.stdin?.write('1');
    await keeper.said(/kept/);
  });
});

describe('the answer of a JVM', () => {
  const [MB, KB] = [1024 ** 2, 1024];
  const ANSWERS: [collector: string, text: string, bytes: number | undefined][] = [
    [
      'G1',
      ' garbage-first heap   total 262144K, used 5321K [0x1, 0x2)\n  region size 2048K, 1 young (2048K)\n Metaspace       used 321K, committed 512K\n  class space    used 21K',
      5321 * KB,
    ],
    [
      'Serial',
      ' def new generation   total 9792K, used 1000K [0x1)\n  eden space 8704K,   3% used [0x1)\n tenured generation   total 21888K, used 500K [0x1)\n Metaspace       used 300K',
      1500 * KB,
    ],
    ['ZGC', ' ZHeap           used 12M, capacity 128M, max capacity 128M\n Metaspace       used 300K', 12 * MB],
    ['an unknown collector', 'nothing', undefined],
  ];
  for (const [collector, text, bytes] of ANSWERS)
    it(`parses the used heap from the reply of a JVM, for each garbage collector: ${collector}`, () =>
      assert.equal(parseUsedHeapBytes(text), bytes));
});
