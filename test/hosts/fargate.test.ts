/** Artillery's own `run-fargate` and worker script, against a stand-in of AWS: two containers bring half of the load each. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { resultSchema } from '../../protocol/result/result.ts';
import { freePorts } from '../../server/stack/ports.ts';
import { startApp, TOKEN } from '../helpers/app.ts';
import { startFargate, withoutFargate } from '../helpers/fargate.ts';
import { ROOT } from '../helpers/pages.ts';
import { eventually } from '../helpers/poll.ts';
import { quickScript, reasonsOfServer } from '../helpers/run.ts';

describe('run-fargate --count 2', { skip: withoutFargate() }, () => {
  it('is one run, with the whole load once', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'fargate-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const app = await startApp({ CAPACITY_WORKER: 'w0' });
    t.after(() => app.close());
    const script = join(folder, 'test/quick.yml');
    mkdirSync(join(folder, 'test'));
    const ramp = { duration: 2, arrivalRate: 10, rampTo: 10 };
    const config = { target: app.url, phases: [ramp, { pause: 2 }, ramp, { pause: 2 }] };
    writeFileSync(script, JSON.stringify(quickScript(config)));

    const fargate = await startFargate(folder);
    t.after(() => fargate.close());
    const [port] = await freePorts(1);
    const args = ['conduct', '--hosts', '2', '--listen', `127.0.0.1:${port}`, script];
    const conductor = spawn(process.execPath, [join(ROOT, 'plugin/hook/cli.js'), ...args], {
      cwd: folder,
      env: { ...process.env, CAPACITY_CONTROL: app.controlUrl, CAPACITY_TOKEN: TOKEN },
    });
    let said = '';
    for (const stream of [conductor.stdout, conductor.stderr]) {
      stream.on('data', (data) => {
        said += data;
      });
    }
    const ended = new Promise<number | null>((resolve) => conductor.on('close', resolve));
    t.after(() => {
      conductor.kill('SIGKILL');
      return ended;
    });
    const [line] = await eventually('the line for the agents', () => /https:\/\/127\S+#[\w.-]+/.exec(said));
    const agents = join(folder, 'agents.env');
    writeFileSync(agents, `CAPACITY_CONDUCTOR="${line}"\nCAPACITY_HOSTS=2\n`);

    const { exitCode, all } = await fargate.run(script, ['--count', '2', '--dotenv', agents]);
    await ended;
    const text = `${said}\n${all}\n${fargate.tasks()}`;
    const result = resultSchema.parse(JSON.parse(readFileSync(join(folder, 'results/latest/result.json'), 'utf8')));
    assert.deepEqual(reasonsOfServer(result), [], text);
    assert.equal(result.connections.peak, 40, text);
    assert.equal(result.delivery?.coverage, 1, text);
    assert.equal(exitCode, 0, text);
    // Artillery's own metrics of both containers, on the console of the user.
    assert.match(all, /vusers\.created: \.* 40/);
  });
});
