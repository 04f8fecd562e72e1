/**
 * Tests the Helm charts: they are linted, rendered, and checked against the schemas of Kubernetes and against the code
 * that they start.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { execa } from 'execa';
import { parse, stringify } from 'yaml';
import { createProgram } from '../../plugin/cli/program.ts';
import { parseServerConfig } from '../../server/config.ts';
import { TOKEN } from '../helpers/app.ts';
import { CHARTS, DEPLOY, type Manifest, manifests } from '../helpers/deploy.ts';
import { codeBlocks, page, ROOT } from '../helpers/pages.ts';
import { tempFolder } from '../helpers/temp-folder.ts';
import { JOBSET_MODULE, missingTools } from '../helpers/tools.ts';

/** Versions of Kubernetes: the oldest that the charts accept, and the newest with schemas. */
const KUBERNETES = ['1.29.0', '1.37.0'];
/** Renders the load for a cluster with the controller of JobSets. */
const WITH_JOBSET = ['--api-versions', 'jobset.x-k8s.io/v1alpha2'];
const JOBSET_CRD = 'config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml';

const scenario = join(ROOT, 'scenarios/10k.yml');
const VALUES = {
  'deployment-under-test': ['--set', `token=${TOKEN}`, '--set', 'workerEnv.CAPACITY_PING_INTERVAL_MS=30000'],
  load: [
    ...['--set-file', `scenario=${scenario}`, '--set', 'hosts=5', '--set', 'target=http://web:8080'],
    ...['--set', 'control={http://a:3200,http://b:3200}', '--set', 'tokenSecret=web-token', '--set', 'env.HOLD=60'],
    ...['--set', 'files.users\\.csv=a\\,b', '--set', 'nodeSelector.pool=load'],
  ],
};

function helm(...args: string[]): string {
  return execFileSync('helm', args, { encoding: 'utf8' });
}

function render(chart: (typeof CHARTS)[number], ...more: string[]): Manifest[] {
  const release = ['--namespace', 'bench', '--kube-version', '1.31.0'];
  return manifests(helm('template', 'web', join(DEPLOY, 'helm', chart), ...release, ...VALUES[chart], ...more));
}

/** @returns the folder of schemas in the Python package kubernetes-validate; undefined without the package */
function schemas(): string | undefined {
  try {
    const code = 'import kubernetes_validate, os; print(os.path.dirname(kubernetes_validate.__file__))';
    const folder = execFileSync('python3', ['-c', code], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    return join(folder.trim(), 'kubernetes-json-schema');
  } catch {
    return undefined;
  }
}

/**
 * Inlines definitions into schemas, because kubeconform reads each schema from a single file.
 * @param from folder of schemas that refer to definitions in other files
 * @param to folder for the complete schemas
 */
function standalone(from: string, all: Manifest[], to: string): void {
  const { $defs } = JSON.parse(readFileSync(join(from, '_definitions.json'), 'utf8'));
  for (const { kind, apiVersion } of all) {
    if (kind === 'JobSet') continue;
    const file = `${kind.toLowerCase()}-${apiVersion.replace('/', '-')}.json`;
    const { $id: _, ...schema } = JSON.parse(readFileSync(join(from, file), 'utf8'));
    const text = JSON.stringify({ ...schema, $defs }).replaceAll('"/api/_definitions.json#/', '"#/');
    writeFileSync(join(to, file), text);
  }
}

/** @returns whether the schema of JobSets, from its custom resource definition, is now in that folder */
function addJobSetSchema(to: string): boolean {
  if (!existsSync(JOBSET_MODULE)) return false;
  const { spec } = parse(readFileSync(join(JOBSET_MODULE, JOBSET_CRD), 'utf8'));
  const { openAPIV3Schema } = spec.versions.find(({ name }: Manifest) => name === 'v1alpha2').schema;
  const strict = JSON.stringify(openAPIV3Schema, (_, value) =>
    value?.type === 'object' && value.properties && !('additionalProperties' in value)
      ? { ...value, additionalProperties: false }
      : value,
  );
  writeFileSync(join(to, 'jobset-jobset-v1alpha2.json'), strict);
  return true;
}

const byKind = (all: Manifest[], kind: string, name?: string): Manifest =>
  all.find((manifest) => manifest.kind === kind && (name === undefined || manifest.metadata.name === name));
const environmentOf = (container: Manifest): Record<string, Manifest> =>
  Object.fromEntries(container.env.map(({ name, value, valueFrom }: Manifest) => [name, value ?? valueFrom]));
const podsOf = (all: Manifest[]): Manifest[] =>
  all.flatMap(({ kind, spec, metadata }) => {
    const pod = kind === 'Pod' ? spec : spec?.template?.spec;
    return pod ? [{ name: metadata.name, ...pod }] : [];
  });

for (const chart of CHARTS) {
  describe(`the chart ${chart}`, { skip: missingTools('helm') }, () => {
    it(`the chart ${chart} passes helm lint`, () => {
      assert.match(helm('lint', '--strict', join(DEPLOY, 'helm', chart), ...VALUES[chart]), /0 chart\(s\) failed/);
    });

    const folder = schemas();
    const skip = missingTools('kubeconform') || (!folder && 'no schemas: pip install kubernetes-validate');
    for (const version of KUBERNETES) {
      it(`the chart ${chart} is valid in Kubernetes ${version}`, { skip }, async (t) => {
        const text = helm('template', 'web', join(DEPLOY, 'helm', chart), '--kube-version', version, ...VALUES[chart]);
        const schemas = tempFolder(t);
        standalone(join(folder ?? '', `v${version}-local-strict`), manifests(text), schemas);
        await assertValid(text, version, schemas);
      });
    }

    it(`the chart ${chart} runs every container without privileges, in a read-only root file system`, () => {
      const pods = podsOf(render(chart));
      assert.ok(pods.length > 1);
      for (const pod of pods) {
        const securityContext = { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } };
        assert.partialDeepStrictEqual(pod, { automountServiceAccountToken: false, securityContext });
        const own = { readOnlyRootFilesystem: true, allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } };
        for (const { securityContext, resources } of pod.containers) {
          assert.partialDeepStrictEqual(securityContext, own, pod.name);
          // A pod has a memory limit but no CPU limit. A CPU limit would throttle the measured processes; the memory
          // limit determines the capacity of a worker.
          assert.deepEqual(Object.keys(resources.limits), ['memory'], pod.name);
        }
      }
    });
  });
}

async function assertValid(text: string, version: string, schemas: string): Promise<void> {
  const location = `${schemas}/{{.ResourceKind}}{{.KindSuffix}}.json`;
  const args = ['-strict', '-summary', '-kubernetes-version', version, '-schema-location', location];
  const { all, exitCode } = await execa('kubeconform', args, { input: text, all: true, reject: false });
  assert.equal(exitCode, 0, all);
  assert.match(all, /Valid: [1-9]\d*, Invalid: 0, Errors: 0, Skipped: 0/);
}

describe('the deployment under test, rendered', { skip: missingTools('helm') }, () => {
  it('the chart of the deployment gives each worker a valid environment, and nginx an upstream for each', () => {
    const all = render('deployment-under-test', '--set', 'workers=3');
    const worker = byKind(all, 'StatefulSet');
    const environment = environmentOf(worker.spec.template.spec.containers[0]);
    const config = parseServerConfig({
      ...environment,
      CAPACITY_TOKEN: TOKEN,
      CAPACITY_WORKER: environment.CAPACITY_WORKER.replace('$(POD_INDEX)', '2'),
    });
    assert.partialDeepStrictEqual(config, { worker: 'w2', port: 3100, controlPort: 3200, pingIntervalMs: 30_000 });
    const proxy = byKind(all, 'ConfigMap').data['nginx.conf'];
    assert.equal(worker.spec.replicas, 3);
    assert.equal(proxy.match(/^ +~\^w\d+- w\d+;$/gm).length, 3);
    const host = `${worker.metadata.name}-2.${worker.spec.serviceName}.bench.svc.cluster.local`;
    assert.ok(proxy.includes(`upstream w2 { zone w2 64k; server ${host}:${config.port} resolve`), proxy);
    assert.ok(byKind(all, 'Service', worker.spec.serviceName));
  });

  it('the deployment chart lets nginx open both ends of each connection, plus a quarter', () => {
    const all = render('deployment-under-test', '--set', 'nginx.connections=1000000', '--set', 'nginx.workers=16');
    assert.match(byKind(all, 'ConfigMap').data['nginx.conf'], /worker_connections 156506;/);
  });
});

describe('the load, rendered', { skip: missingTools('helm') }, () => {
  it('the chart of the load has one conductor, and one agent per host, each with its index', () => {
    const all = render('load');
    const { spec } = byKind(all, 'Job', 'web-agents-1');
    assert.partialDeepStrictEqual(spec, {
      completionMode: 'Indexed',
      completions: 5,
      parallelism: 5,
      backoffLimitPerIndex: 0,
    });
    const agent = environmentOf(spec.template.spec.containers[0]);
    assert.match(agent.CAPACITY_HOST.fieldRef.fieldPath, /job-completion-index/);
    assert.equal(byKind(all, 'Job', 'web-conductor-1').spec.backoffLimit, 0);
  });

  it('the chart of the load is a JobSet where its controller is installed, which ends with the conductor', async (t) => {
    const all = render('load', ...WITH_JOBSET);
    const { spec } = byKind(all, 'JobSet', 'web-1');
    assert.deepEqual(spec.successPolicy, { operator: 'All', targetReplicatedJobs: ['conductor'] });
    const [conductor, agents] = spec.replicatedJobs.map(({ template }: Manifest) => template.spec);
    const alone = render('load');
    assert.deepEqual(conductor, byKind(alone, 'Job', 'web-conductor-1').spec);
    const { command, ...agent } = agents.template.spec.containers[0];
    const { command: _, ...expected } = byKind(alone, 'Job', 'web-agents-1').spec.template.spec.containers[0];
    assert.deepEqual(agent, expected);
    assert.equal(byKind(all, 'Job'), undefined);
    // The agents' exit codes do not end the conductor; they pass SIGTERM on.
    const script = command[2].replace(
      'socketio-capacity host',
      'sh -c "trap \\"echo ended; exit 3\\" TERM; echo up; while sleep 0.1; do :; done"',
    );
    const child = execa('sh', ['-c', script], { reject: false });
    child.stdout.once('data', () => child.kill('SIGTERM'));
    const { stdout, exitCode } = await child;
    assert.deepEqual([stdout, exitCode], ['up\nended', 0]);
    const [folder, target] = [schemas(), tempFolder(t)];
    if (!folder || missingTools('kubeconform') || !addJobSetSchema(target)) return;
    standalone(join(folder, 'v1.37.0-local-strict'), all, target);
    for (const rendered of [
      all,
      render('load', ...WITH_JOBSET, '--set', 'target=,env=null', '--set-json', 'control=[]'),
    ]) {
      const text = rendered.map((manifest) => stringify(manifest)).join('---\n');
      await assertValid(text, '1.37.0', target);
    }
  });

  it('the chart of the load gives conductor and agents the same scenario and the same settings', () => {
    const all = render('load');
    assert.deepEqual(byKind(all, 'ConfigMap').data, {
      'scenario.yml': readFileSync(scenario, 'utf8'),
      'users.csv': 'a,b',
    });
    for (const name of ['web-agents-1', 'web-conductor-1']) {
      const { containers, volumes, nodeSelector } = byKind(all, 'Job', name).spec.template.spec;
      const environment = environmentOf(containers[0]);
      assert.equal(environment.TARGET, 'http://web:8080');
      assert.equal(environment.HOLD, '60');
      assert.ok(volumes.some(({ configMap }: Manifest) => configMap?.name === 'web-scenario'));
      assert.deepEqual(nodeSelector, { pool: 'load' });
    }
  });

  it('the smoke test of the load has the settings of the run, except its size and duration', () => {
    const { spec } = byKind(render('load', '--set', 'env.TRANSPORTS=websocket', '--set', 'env.RATE=9'), 'Pod');
    const names = Object.keys(environmentOf(spec.containers[0]));
    assert.deepEqual(names.sort(), ['CAPACITY_CONTROL', 'CAPACITY_TOKEN', 'TARGET', 'TRANSPORTS']);
  });

  it('the chart of the load gives control ports, token and Redis to the conductor only', () => {
    const all = render('load', '--set', 'redisUrl=redis://r:6379');
    const [conductor = {}, agent = {}] = ['web-conductor-1', 'web-agents-1'].map((name) =>
      environmentOf(byKind(all, 'Job', name).spec.template.spec.containers[0]),
    );
    assert.partialDeepStrictEqual(conductor, {
      CAPACITY_CONTROL: 'http://a:3200,http://b:3200',
      CAPACITY_TOKEN: { secretKeyRef: { name: 'web-token', key: 'token' } },
      REDIS_URL: 'redis://r:6379',
    });
    const own = ['CAPACITY_CONDUCTOR', 'CAPACITY_HOST', 'HOLD', 'TARGET'];
    assert.deepEqual(Object.keys(agent).sort(), own);
  });

  for (const [what, values, given] of [
    ['a run', [], ['conduct', '--hosts=5', '--listen=0.0.0.0:3401', '--secret=/run/join']],
    [
      'a series',
      ['--set', 'command={search,--vary,connections}'],
      [
        'search',
        '--vary',
        'connections',
        '--hosts=5',
        '--listen=0.0.0.0:3401',
        '--secret=/run/join',
        '--results=/results',
      ],
    ],
  ] as const) {
    it(`the chart of the load starts ${what} with options that its command has, and keeps its results`, () => {
      const all = render('load', ...values);
      const { containers, volumes } = byKind(all, 'Job', 'web-conductor-1').spec.template.spec;
      assert.deepEqual(containers[0].command, ['socketio-capacity', ...given, '/scenario/scenario.yml']);
      const command = createProgram().commands.find((subcommand) => subcommand.name() === given[0]);
      const options = command?.options.map(({ long }) => long);
      for (const option of given.filter((word) => word.startsWith('--')))
        assert.ok(options?.includes(option.split('=')[0]), option);
      const mounts = containers[0].volumeMounts.map(({ mountPath }: Manifest) => mountPath);
      assert.deepEqual(mounts, ['/scenario', '/run/join', '/results', '/tmp']);
      const agent = byKind(all, 'Job', 'web-agents-1').spec.template.spec.containers[0];
      assert.deepEqual(agent.command.slice(1), given[0] === 'conduct' ? ['host'] : ['host', '--stay']);
      const claim = byKind(all, 'PersistentVolumeClaim');
      assert.equal(claim.metadata.annotations['helm.sh/resource-policy'], 'keep');
      assert.ok(
        volumes.some(({ persistentVolumeClaim }: Manifest) => persistentVolumeClaim?.claimName === claim.metadata.name),
      );
    });
  }

  it('the chart of the load makes a certificate for the conductor, and a join token for the agents', () => {
    const all = render('load');
    const { token, 'join-token': joinToken, ...tls } = byKind(all, 'Secret').stringData;
    const certificate = new X509Certificate(tls['tls.crt']);
    const host = 'web-conductor.bench.svc.cluster.local';
    assert.ok(certificate.checkHost(host));
    assert.ok(byKind(all, 'Service', host.split('.')[0]));
    const fingerprint = certificate.fingerprint256.replaceAll(':', '').toLowerCase();
    assert.equal(joinToken, `https://${host}:3401#${token}.${fingerprint}`);
    assert.notEqual(byKind(render('load'), 'Secret').stringData.token, token);
  });
});

it('the commands for Kubernetes in the guide to several hosts fit the charts and each other', {
  skip: missingTools('helm'),
}, async () => {
  const blocks = codeBlocks(page('docs/guide/several-hosts.md'), 'sh').filter((block) => block.includes('helm '));
  const installed = blocks.flatMap((block) =>
    [...block.matchAll(/^helm (?:install|upgrade --install) ((?:.*\\\n)*.*)/gm)].map(([, line = '']) => line),
  );
  // Without a cluster, `helm template` renders what `helm install` would install.
  const [deployment = '', load = ''] = await Promise.all(
    installed.map(async (line) => {
      const { stdout } = await execa('bash', ['-c', `helm template --kube-version 1.31.0 ${line}`], { cwd: ROOT });
      return stdout;
    }),
  );
  for (const [, name] of installed.join().matchAll(/\/\/([\w-]+)\.bench\.svc|tokenSecret=(\S+)/g))
    if (name) assert.match(deployment, new RegExp(`^  name: ${name}$`, 'm'));
  for (const [, job] of blocks.join().matchAll(/ job\/(\S+)/g)) assert.match(load, new RegExp(`^  name: ${job}$`, 'm'));
});

describe('invalid chart values', { skip: missingTools('helm') }, () => {
  for (const [chart, problem, message, ...values] of [
    ['deployment-under-test', 'no token', /set token/, '--set', 'token='],
    ['deployment-under-test', 'a short token', /token/, '--set', 'token=short'],
    ['deployment-under-test', 'unknown values', /replicas/, '--set', 'replicas=2'],
    ['load', 'unknown values', /replicas/, '--set', 'replicas=2'],
    ['load', 'no scenario', /set the scenario/, '--set-file', 'scenario=/dev/null'],
    ['load', 'control ports without a token', /control needs tokenSecret/, '--set', 'tokenSecret='],
  ] as const) {
    it(`the chart ${chart} refuses ${problem}`, () => assert.throws(() => render(chart, ...values), message));
  }
});
