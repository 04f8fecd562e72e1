/**
 * Tests the Helm charts in a real API server with the real controllers, in a namespace that enforces the Pod Security
 * Standard `restricted`. There are no nodes, so no container runs: see pods.test.ts.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { type ControlPlane, NO_CONTROL_PLANE, startControlPlane } from '../helpers/cluster/control-plane.ts';
import { CHARTS, DEPLOY, type Manifest, manifests } from '../helpers/deploy.ts';
import { ROOT } from '../helpers/pages.ts';
import { eventually } from '../helpers/poll.ts';
import { inReverse } from '../helpers/raw-listen.ts';
import { tempFolder } from '../helpers/temp-folder.ts';

const NAMESPACE = 'bench';
const IN_NAMESPACE = ['--namespace', NAMESPACE];
const TOKEN = 'token-of-the-tests';
/** Values by chart, with every optional part. */
const VALUES = {
  'deployment-under-test': ['--set', `token=${TOKEN}`],
  load: [
    ...['--set-file', `scenario=${join(ROOT, 'scenarios/10k.yml')}`, '--set', 'hosts=3'],
    ...['--set', 'target=http://web-nginx-direct:8080', '--set', 'control={http://web-workers:3200}'],
    ...['--set', 'tokenSecret=web-token', '--set', 'redisUrl=redis://web-redis:6379', '--set', 'env.HOLD=60'],
    ...['--set', 'files.users\\.csv=a\\,b'],
  ],
};
const RELEASES = { web: 'deployment-under-test', load: 'load' } as const;
const pathOf = (chart: (typeof CHARTS)[number]) => join(DEPLOY, 'helm', chart);

describe('charts in an API server', { skip: NO_CONTROL_PLANE, timeout: 300_000 }, () => {
  const t = inReverse({ after });
  let plane: ControlPlane;
  before(async () => {
    plane = await startControlPlane(t);
    const restricted = ['enforce', 'warn'].map((mode) => [`pod-security.kubernetes.io/${mode}`, 'restricted']);
    await plane.createNamespace(NAMESPACE, Object.fromEntries(restricted));
  });
  afterEach((context) => {
    if ('passed' in context && !context.passed) console.log(plane?.logs());
  });

  const list = async (resource: string, labels: Record<string, string> = {}): Promise<Manifest[]> => {
    const selector = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
    const group = { jobs: '/apis/batch/v1', jobsets: '/apis/jobset.x-k8s.io/v1alpha2' }[resource] ?? '/api/v1';
    const path = `${group}/namespaces/${NAMESPACE}/${resource}?labelSelector=${encodeURIComponent(selector.join())}`;
    return (await plane.api.get(path)).items;
  };
  const podsOf = (release: string, component: string) =>
    list('pods', { 'app.kubernetes.io/instance': release, 'app.kubernetes.io/component': component });
  const indexOf = ({ metadata }: Manifest) =>
    metadata.labels['apps.kubernetes.io/pod-index'] ?? metadata.labels['batch.kubernetes.io/job-completion-index'];
  /** Waits until the components have exactly these pods, by their index, with names that begin with `prefix`. */
  const havePods = async (expected: Record<string, (string | undefined)[]>, prefix: string) => {
    const release = prefix.split('-')[0] as string;
    for (const [component, indices] of Object.entries(expected)) {
      let pods: Manifest[] = [];
      await eventually(
        `${component} has the pods ${indices} of ${prefix}`,
        async () => {
          pods = await podsOf(release, component);
          const isCurrent = ({ metadata }: Manifest) => metadata.name.startsWith(prefix) && !metadata.deletionTimestamp;
          return pods.every(isCurrent) && isDeepStrictEqual(pods.map(indexOf).sort(), indices);
        },
        60_000,
        () => JSON.stringify(pods.map(({ metadata }) => metadata)),
      );
    }
  };
  /** @returns names of all objects in the namespace that Helm or a controller has created, without events */
  const names = async () => {
    const kinds = 'pods,services,configmaps,secrets,persistentvolumeclaims,jobs,deployments,statefulsets,replicasets';
    const { stdout } = await plane.kubectl('get', kinds, ...IN_NAMESPACE, '-o', 'name');
    return stdout.split('\n').filter((name) => name && name !== 'configmap/kube-root-ca.crt');
  };

  for (const chart of CHARTS) {
    it(`the API server stores the chart ${chart} as it is written, without a warning`, async (t) => {
      const { stdout: text } = await plane.helm(
        ...['template', 'web', pathOf(chart), ...IN_NAMESPACE, '--validate', ...VALUES[chart]],
      );
      const file = join(tempFolder(t), 'all.yaml');
      writeFileSync(file, text);
      const create = ['create', ...IN_NAMESPACE, '--dry-run=server', '--validate=strict', '-o', 'yaml', '-f', file];
      const { stdout, stderr } = await plane.kubectl(...create);
      assert.equal(stderr, '');
      const stored = manifests(stdout);
      for (const written of manifests(text)) {
        const { kind, metadata } = written;
        const found = stored.find((object) => object.kind === kind && object.metadata.name === metadata.name);
        assert.partialDeepStrictEqual(found, asStored(written), `${kind} ${metadata.name}`);
      }
    });
  }

  it('Helm installs both charts, and the controllers create a pod per worker, agent and index', async () => {
    for (const [release, chart] of Object.entries(RELEASES)) {
      const { stderr } = await plane.helm('install', release, pathOf(chart), ...IN_NAMESPACE, ...VALUES[chart]);
      assert.equal(stderr, '');
    }
    await havePods({ worker: ['0', '1'], nginx: [undefined], redis: [undefined] }, 'web-');
    await havePods({ conductor: [undefined], agent: ['0', '1', '2'] }, 'load-');
  });

  it('an upgrade of the load replaces the Jobs and pods of the last run, and keeps the claim', async () => {
    const [claim] = await list('persistentvolumeclaims');
    await plane.helm('upgrade', '--install', 'load', pathOf('load'), ...IN_NAMESPACE, ...VALUES.load, '--set=hosts=2');
    await havePods({ conductor: [undefined], agent: ['0', '1'] }, 'load-');
    const jobs = await list('jobs');
    assert.deepEqual(jobs.map(({ metadata }) => metadata.name).sort(), ['load-agents-2', 'load-conductor-2']);
    const [kept] = await list('persistentvolumeclaims');
    assert.equal(kept.metadata.uid, claim.metadata.uid);
  });

  it('an uninstalled release leaves only the claim of the results, and can be installed again', async () => {
    for (const release of Object.keys(RELEASES)) await plane.helm('uninstall', release, ...IN_NAMESPACE);
    await eventually('only the claim is left', async () => (await names()).length === 1);
    assert.deepEqual(await names(), ['persistentvolumeclaim/load-results']);
    await plane.helm('install', 'load', pathOf('load'), ...IN_NAMESPACE, ...VALUES.load);
    await havePods({ conductor: [undefined], agent: ['0', '1', '2'] }, 'load-');
  });

  const upgrade = async () => {
    const args = ['upgrade', '--install', 'load', pathOf('load'), ...IN_NAMESPACE, ...VALUES.load];
    const { stdout, stderr } = await plane.helm(...args, '-o', 'json');
    assert.equal(stderr, '');
    const release: Manifest = JSON.parse(stdout);
    const name = `load-${release.version}`;
    await havePods({ conductor: ['0'], agent: ['0', '1', '2'] }, `${name}-`);
    return { name, written: manifests(release.manifest).find(({ kind }) => kind === 'JobSet') };
  };

  it('an upgrade with the controller of JobSets replaces the Jobs by a JobSet', async () => {
    await plane.startJobSets();
    const { name, written } = await upgrade();
    const jobs = await list('jobs');
    assert.deepEqual(jobs.map(({ metadata }) => metadata.name).sort(), [`${name}-agents-0`, `${name}-conductor-0`]);
    const [stored] = await list('jobsets');
    assert.partialDeepStrictEqual(stored.spec, asStored(written).spec);
  });

  for (const [phase, condition] of [
    ['Succeeded', 'Completed'],
    ['Failed', 'Failed'],
  ] as const) {
    it(`a conductor that has ${phase.toLowerCase()} ends the agents of its JobSet`, async () => {
      const { name } = await upgrade();
      const [conductor] = await podsOf('load', 'conductor');
      const path = `/api/v1/namespaces/${NAMESPACE}/pods/${conductor.metadata.name}/status`;
      await plane.api.patch(path, { status: { phase } });
      await eventually(`the JobSet has ${phase}`, async () => {
        const jobSet = (await list('jobsets')).find(({ metadata }) => metadata.name === name);
        return jobSet.status.conditions?.some(({ type, status }: Manifest) => type === condition && status === 'True');
      });
      await havePods({ agent: [] }, `${name}-`);
    });
  }
});

/** @returns the object as the API server returns it: with encoded secrets, and without values that mean nothing */
function asStored(object: Manifest): Manifest {
  const { stringData, ...stored } = object;
  if (!stringData) return stored;
  const encoded = Object.entries<string>(stringData).map(([name, value]) => [
    name,
    Buffer.from(value).toString('base64'),
  ]);
  return { ...stored, data: Object.fromEntries(encoded) };
}
