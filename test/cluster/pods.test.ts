/**
 * Runs both Helm charts in a real API server with the real scheduler and controllers, on stand-in nodes: measured runs
 * as Jobs and as a JobSet, `helm test`, a killed agent, and the commands of the guide and of the charts' notes.
 */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { execa } from 'execa';
import { EXIT_CODES, STOPPED_EXIT_CODE } from '../../protocol/codes/exit-codes.ts';
import { type ControlPlane, NO_CONTROL_PLANE, startControlPlane } from '../helpers/cluster/control-plane.ts';
import { type Nodes, startNodes } from '../helpers/cluster/nodes.ts';
import type { StandInPod } from '../helpers/cluster/pod.ts';
import { column } from '../helpers/columns.ts';
import { buildImage, NO_CONTAINERS } from '../helpers/container.ts';
import { DEPLOY, type Manifest } from '../helpers/deploy.ts';
import { whyNoNamespaces } from '../helpers/namespaces.ts';
import { codeBlocks, page, ROOT } from '../helpers/pages.ts';
import { eventually } from '../helpers/poll.ts';
import { inReverse } from '../helpers/raw-listen.ts';
import { assertGood, hasReached, latestResult, quickScript } from '../helpers/run.ts';
import { tempFolder } from '../helpers/temp-folder.ts';
import { missingTools } from '../helpers/tools.ts';

const skip = NO_CONTROL_PLANE || NO_CONTAINERS || whyNoNamespaces() || missingTools('nginx', 'redis-server');
const NAMESPACE = 'bench';
const HOSTS = 2;
const CONNECTIONS = 40;

describe('charts on stand-in nodes', { skip, timeout: 900_000 }, () => {
  const t = inReverse({ after });
  let plane: ControlPlane;
  let nodes: Nodes;
  /** Folder behind the claim of the results. */
  let results: string;
  let scenario: string;

  before(async () => {
    const image = await buildImage(join(DEPLOY, 'Dockerfile'));
    t.after(image.remove);
    plane = await startControlPlane(t);
    const restricted = ['enforce', 'warn'].map((mode) => [`pod-security.kubernetes.io/${mode}`, 'restricted']);
    await plane.createNamespace(NAMESPACE, Object.fromEntries(restricted));
    nodes = await startNodes(t, plane, image, 3);
    const folder = tempFolder(t);
    results = join(folder, 'volume');
    mkdirSync(results);
    await plane.api.create('/api/v1/persistentvolumes', {
      metadata: { name: 'results' },
      spec: {
        ...{ capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], persistentVolumeReclaimPolicy: 'Retain' },
        csi: { driver: 'stand-in', volumeHandle: results },
      },
    });
    scenario = join(folder, 'scenario.json');
  });
  afterEach((context) => {
    if ('passed' in context && !context.passed) console.log(plane?.logs());
  });

  /** Runs shell commands. A smaller scenario and fewer hosts replace the guide's. */
  const shell = async (commands: string, cwd = ROOT) => {
    const script = commands.replaceAll('scenarios/10k.yml', scenario).replaceAll('hosts=5', `hosts=${HOSTS}`);
    const options = { cwd, env: plane.env, all: true, reject: false, stdin: 'ignore' } as const;
    const { all, exitCode } = await nodes.during(execa('bash', ['-euo', 'pipefail', '-c', script], options));
    assert.equal(exitCode, 0, `${script}\n${all}`);
    return all;
  };
  const writeScenario = (options: object = {}) => {
    const ramp = { duration: 1, arrivalRate: CONNECTIONS / 2, rampTo: CONNECTIONS / 2 };
    const phases = [ramp, { pause: 2 }, ramp, { pause: 2 }];
    writeFileSync(scenario, JSON.stringify(quickScript({ target: 'http://localhost', phases }, options)));
  };
  const get = async (kind: string, name: string): Promise<Manifest> => {
    const { stdout } = await plane.kubectl('get', kind, name, '--namespace', NAMESPACE, '-o', 'json');
    return JSON.parse(stdout);
  };
  /** Waits until a Job or JobSet has ended. */
  const ends = (kind: string, name: string): Promise<string> => {
    const look = async () => {
      const { status } = await get(kind, name);
      const reached: Manifest[] = status.conditions ?? [];
      return reached.find((entry) => entry.status === 'True' && /^(Complete|Completed|Failed)$/.test(entry.type))?.type;
    };
    return nodes.during(eventually(`${kind} ${name} has ended`, look, 180_000));
  };
  /** Waits until the container of a pod runs. */
  const running = (prefix: string): Promise<StandInPod> => {
    const look = () => {
      const pod = nodes.pod(NAMESPACE, prefix);
      return pod && pod.log.length > 0 ? pod : undefined;
    };
    return nodes.during(eventually(`${prefix} runs`, look));
  };
  /** Starts the next run by the guide's command. Returns the revision. */
  const upgrade = async (...values: string[]) => {
    rmSync(join(results, 'latest'), { force: true });
    await shell([statements(guide('helm upgrade'))[0], ...values].join(' '));
    const { stdout } = await plane.helm('status', 'load', '--namespace', NAMESPACE, '-o', 'json');
    return JSON.parse(stdout).version as number;
  };
  const resultOf = (output: string) => latestResult(results) ?? assert.fail(output);
  const assertMeasured = (output: string) => {
    const result = resultOf(output);
    assert.equal(result.connections.peak, CONNECTIONS);
    assert.equal(result.delivery?.coverage, 1);
    assert.equal(result.generators.length, HOSTS);
    assert.deepEqual(Object.keys(result.connections.perWorker).sort(), ['w0', 'w1', 'w2', 'w3']);
    assertGood(result, result.verdict.status === 'VALID' ? 0 : EXIT_CODES.suspect, output);
    return result.verdict.status === 'VALID';
  };
  /** Kills an agent while the run waits for the last messages. Returns the other agent. */
  const killAgent = async (prefix: string) => {
    await nodes.during(eventually('the run drains', () => hasReached(latestResult(results), 'drain'), 120_000));
    const [other, killed] = [await running(`${prefix}-0-`), await running(`${prefix}-1-`)];
    killed.signal('SIGKILL');
    return other;
  };
  const assertLoss = async (conductor: string, other: StandInPod) => {
    const output = String(nodes.pod(NAMESPACE, conductor)?.log.now());
    const result = resultOf(output);
    assert.ok(column(result.findings, 'code').includes('GENERATOR_SILENT'), output);
    const [first, second] = result.generators;
    assert.deepEqual([first?.held, first?.lost, second?.held], [CONNECTIONS / 2, null, 0], output);
    assert.equal(nodes.pod(NAMESPACE, conductor)?.exitCode, EXIT_CODES.invalid, output);
    await eventually('the other agent has ended', () => other.exitCode !== undefined);
    assert.equal(other.exitCode, 0, String(other.log.now()));
  };

  it('the commands of the guide measure the deployment with a conductor and agents as Jobs, and test the release', async () => {
    writeScenario();
    await shell(guide('helm install web'));
    const output = await shell(guide('helm upgrade --install load'));
    assertMeasured(output);
    assert.match(output, /Waiting for 2 hosts with the join token of the secret/);
    assert.match(output, /TEST SUITE: +load-smoke[\s\S]*Phase: +Succeeded[\s\S]*50 connections/);
    assert.equal(await ends('job', 'load-agents-1'), 'Complete');
  });

  it('the command in the notes of the chart copies the results from their volume', async (t) => {
    const { stdout } = await plane.helm('get', 'notes', 'load', '--namespace', NAMESPACE);
    const [command] = /^ *mkdir -p results[\s\S]*tar -x -C results$/m.exec(stdout) ?? assert.fail(stdout);
    const folder = tempFolder(t);
    await shell(command, folder);
    const copied = readFileSync(join(folder, 'results/latest/result.json'), 'utf8');
    assert.equal(copied, readFileSync(join(results, 'latest/result.json'), 'utf8'));
  });

  it('a killed agent of a Job makes the run INVALID, and the other agents continue', async () => {
    writeScenario({ drain: { quiet: 1, deadline: 60 } });
    const revision = await upgrade();
    const other = await killAgent(`load-agents-${revision}`);
    assert.equal(await ends('job', `load-conductor-${revision}`), 'Failed');
    await ends('job', `load-agents-${revision}`);
    await assertLoss(`load-conductor-${revision}`, other);
  });

  it('the next run with the controller of JobSets is a JobSet, which completes with its conductor', async () => {
    await plane.startJobSets();
    writeScenario();
    const revision = await upgrade();
    await running(`load-${revision}-conductor-0`);
    const output = await shell(`kubectl --namespace bench logs --follow job/load-${revision}-conductor-0`);
    const isValid = assertMeasured(output);
    // A busy machine makes the run SUSPECT, which is a failed conductor.
    assert.equal(await ends('jobset', `load-${revision}`), isValid ? 'Completed' : 'Failed');
  });

  it('a killed agent of a JobSet makes the run INVALID, and the other agents continue', async () => {
    writeScenario({ drain: { quiet: 1, deadline: 60 } });
    const revision = await upgrade();
    const other = await killAgent(`load-${revision}-agents-0`);
    assert.equal(await ends('jobset', `load-${revision}`), 'Failed');
    await assertLoss(`load-${revision}-conductor-0`, other);
  });

  it('an uninstalled load ends its pods, and leaves only the results and the pod of the test', async () => {
    const revision = await upgrade();
    const conductor = await running(`load-${revision}-conductor`);
    await shell('helm uninstall load web --namespace bench --wait');
    await eventually('all pods have ended', async () => {
      const { stdout } = await plane.kubectl('get', 'pods', '--namespace', NAMESPACE, '-o', 'name');
      return stdout === 'pod/load-smoke';
    });
    assert.equal(conductor.exitCode, STOPPED_EXIT_CODE);
    const { stdout } = await plane.kubectl('get', 'persistentvolumeclaims', '--namespace', NAMESPACE, '-o', 'name');
    assert.equal(stdout, 'persistentvolumeclaim/load-results');
  });
});

/** @returns the commands of the guide's block that contains this command */
function guide(command: string): string {
  const found = codeBlocks(page('docs/guide/several-hosts.md'), 'sh').find((block) => block.includes(command));
  return found ?? assert.fail(`the guide has no ${command}`);
}

/** @returns the commands in a block, with their continued lines */
function statements(block: string): string[] {
  return block.split(/(?<!\\)\n/).filter(Boolean);
}
