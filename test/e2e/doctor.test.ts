/** Tests the predictions of the doctor: with a lowered limit, a run ends at the predicted number of connections. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { execa } from 'execa';
import type { Diagnosis } from '../../plugin/doctor/diagnosis.ts';
import { CLI, cli } from '../helpers/cli.ts';
import { ROOT } from '../helpers/pages.ts';
import { quickScript, startRun, strays } from '../helpers/run.ts';

/** @param before shell commands that lower the limits */
async function doctor(before: string, args: string[]) {
  const command = `${before}; exec "${process.execPath}" "${CLI}" doctor "$@"`;
  const { exitCode, stdout, stderr } = await execa('sh', ['-c', command, 'sh', ...args], { cwd: ROOT, reject: false });
  return { code: exitCode, stdout, stderr };
}

describe('npx socketio-capacity doctor', { concurrency: 2 }, () => {
  it('the doctor reports that this machine can run the smoke scenario', async () => {
    const { code, stdout, stderr } = await cli(ROOT, 'doctor', 'scenarios/smoke.yml');
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^50 connections at \d+\/s to http:\/\/127\.0\.0\.1:8080/);
    assert.match(stdout, /\n {2}machine memory +[\d,]+ /);
    assert.match(stdout, /\n50 connections fit \(.*\)\.$/);
  });

  it('the doctor reports a low limit of open files of the generator', async () => {
    const { code, stdout } = await doctor('ulimit -n 600', ['scenarios/100k.yml', '--json']);
    const { fits, limits, highest } = JSON.parse(stdout) as Diagnosis;
    const max = 64 * 400 * Math.max(1, cpus().length - 1);
    const files = limits.find(({ name }) => name === 'generatorFiles');
    assert.equal(files?.max, max);
    assert.deepEqual([fits, code], max < 100_000 ? [false, 2] : [highest !== null && highest >= 100_000, code]);
  });

  it('the doctor compares the connections of another engine with the limit of one process', async () => {
    const { stdout } = await doctor('ulimit -n 600', ['scenarios/socketio-v3.yml', '--json']);
    const { limits } = JSON.parse(stdout) as Diagnosis;
    assert.equal(limits.find(({ name }) => name === 'generatorFiles')?.max, 400);
  });
});

it('a run that exceeds a limit of the machine is refused with the doctor’s numbers, and starts nothing', async (t) => {
  const phases = [{ duration: 4, arrivalRate: 250, rampTo: 250 }];
  const script = quickScript({ phases }, { profile: 'embedded' });
  const run = startRun(t, { script, before: 'ulimit -n 600' });
  const { code, stdout } = await doctor('ulimit -n 600', [join(run.directory, 'quick.yml'), '--json']);
  const { highest, bottleneck } = JSON.parse(stdout) as Diagnosis;
  assert.deepEqual({ code, highest, bottleneck }, { code: 2, highest: 344, bottleneck: 'workerFiles' });
  assert.equal(await run.ended, 2, run.output());
  assert.match(
    run.output(),
    /LIMIT_TOO_LOW: 1,000 connections do not fit: at most 344 are possible, limited by worker files \(344\)/,
  );
  assert.match(run.output(), /\n {2}fix: ulimit -n 1256 \(as root\)\n/);
  assert.doesNotMatch(run.output(), /Starting|Phase started|\n\s+at /);
  assert.deepEqual(strays(run), []);
  assert.deepEqual(readdirSync(run.directory), ['quick.yml']);
});

describe('source ports', {
  skip: whyNoNamespace(),
  concurrency: 2,
}, () => {
  const [ports, arrivals] = [400, 480];
  const end = async (options: object) => {
    const fixture = join(ROOT, 'test/fixtures/ports-end.ts');
    const range = `40000 ${40_000 + ports - 1}`;
    const command = `ip link set lo up && echo ${range} > /proc/sys/net/ipv4/ip_local_port_range && exec "$@"`;
    const program = ['sh', process.execPath, fixture, JSON.stringify(options), String(arrivals)];
    const { stdout } = await execa('unshare', ['-rn', 'sh', '-c', command, ...program], { timeout: 60_000 });
    return JSON.parse(stdout) as { diagnosis: Diagnosis; counters: Record<string, number>; output: string };
  };

  for (const [title, cause, options] of [
    ['from an address that the kernel chooses', 'EADDRNOTAVAIL', {}],
    // The socket is bound before it connects, so the bind fails if ports run out.
    ['from one configured address', 'EADDRINUSE', { client: 'official', localAddresses: ['127.0.0.2'] }],
  ] as const) {
    it(`source ports run out at the predicted number of connections ${title}`, async () => {
      const { diagnosis, counters, output } = await end(options);
      const { fits, highest, bottleneck } = diagnosis;
      assert.deepEqual({ fits, highest, bottleneck }, { fits: false, highest: ports, bottleneck: 'generatorPorts' });
      const connected = counters['socketio.connects'] ?? 0;
      assert.ok(Math.abs(connected - ports) <= ports / 100, `${connected} connected\n${output}`);
      assert.equal(counters[`errors.${cause}`], arrivals - connected, output);
    });
  }
});

/** @returns why the tests of ports cannot run on this machine; false if they can */
function whyNoNamespace(): string | false {
  try {
    execFileSync('unshare', ['-rn', 'ip', 'link', 'set', 'lo', 'up'], { stdio: 'ignore' });
    return false;
  } catch {
    return 'needs unshare and ip (iproute2), and a kernel that lets a user make a network namespace';
  }
}
