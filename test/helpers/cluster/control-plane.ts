/**
 * Control plane of Kubernetes on loopback: etcd, API server, controllers, scheduler, and optionally the controller of
 * JobSets. It has no nodes; `nodes.ts` adds stand-ins. `npm run test:cluster` builds the programs.
 */
import assert from 'node:assert/strict';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { execa } from 'execa';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { findFreePorts } from '../../../server/stack/ports.ts';
import { findTool } from '../../../server/stack/tools.ts';
import type { Manifest } from '../deploy.ts';
import { ROOT } from '../pages.ts';
import { PEM, PEM_FILES } from '../pem.ts';
import { eventually } from '../poll.ts';
import { startProcess } from '../process.ts';
import type { Cleaner } from '../raw-listen.ts';
import { tempFolder } from '../temp-folder.ts';
import { CONTROL_PLANE, JOBSET_MODULE, missingTools, TOOLS } from '../tools.ts';
import { KubernetesApi } from './api.ts';

/** Reason why a control plane cannot be started; false if it can be started. */
export const NO_CONTROL_PLANE =
  missingTools('helm') ||
  ([...CONTROL_PLANE, 'jobset-controller'].some((name) => !findTool(name)) && 'not built (npm run test:cluster)');

/** Controllers of the objects in the charts. */
const CONTROLLERS = [
  ...['job', 'statefulset', 'deployment', 'replicaset', 'endpointslice', 'namespace', 'serviceaccount'],
  ...['garbage-collector', 'pod-garbage-collector', 'persistentvolume-binder', 'persistentvolumeclaim-protection'],
].map((name) => `${name}-controller`);

export type ControlPlane = Awaited<ReturnType<typeof startControlPlane>>;

/** Starts a control plane. It ends with the test. */
export async function startControlPlane(t: Cleaner) {
  const folder = tempFolder(t);
  const [etcd, peers, port = 0, webhooks] = await findFreePorts(4);
  const token = randomBytes(16).toString('hex');
  const file = (name: string, content?: string) => {
    if (content !== undefined) writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  const { publicKey, privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    // Versions of other programs on this machine may not fit.
    PATH: `${TOOLS}${delimiter}${process.env.PATH}`,
    KUBECONFIG: file('kubeconfig'),
    KUBECACHEDIR: file('cache'),
    // Other configurations of this machine's user must not change what Helm does.
    ...{ HELM_CACHE_HOME: file('helm'), HELM_CONFIG_HOME: file('helm'), HELM_DATA_HOME: file('helm') },
  };
  const start = (program: string, ...args: string[]) => startProcess(t, program, args, { env, cwd: folder });

  start(
    'etcd',
    ...['--data-dir', file('etcd'), '--unsafe-no-fsync'],
    ...['--listen-client-urls', '--advertise-client-urls'].flatMap((name) => [name, `http://127.0.0.1:${etcd}`]),
    ...['--listen-peer-urls', '--initial-advertise-peer-urls'].flatMap((name) => [name, `http://127.0.0.1:${peers}`]),
    ...['--initial-cluster', `default=http://127.0.0.1:${peers}`],
  );
  const server = start(
    'kube-apiserver',
    `--etcd-servers=http://127.0.0.1:${etcd}`,
    ...[`--secure-port=${port}`, '--bind-address=127.0.0.1', '--advertise-address=127.0.0.1'],
    ...[`--cert-dir=${file('certificates')}`, '--service-cluster-ip-range=10.96.0.0/16'],
    // The address of a server on loopback cannot be an endpoint of the service `kubernetes`.
    ...['--endpoint-reconciler-type=none', '--authorization-mode=RBAC'],
    `--token-auth-file=${file('tokens.csv', `${token},admin,admin,system:masters\n`)}`,
    ...['--service-account-issuer=https://kubernetes.default.svc', '--kubelet-preferred-address-types=InternalIP'],
    `--service-account-key-file=${file('accounts.pub', publicKey)}`,
    `--service-account-signing-key-file=${file('accounts.key', privateKey)}`,
  );
  const api = await eventually(
    'the API server is ready',
    async () => {
      try {
        const client = new KubernetesApi(port, readFileSync(file('certificates/apiserver.crt'), 'utf8'), token);
        await client.get('/readyz?verbose=0').catch((error) => {
          // The answer `ok` is no JSON.
          if (!(error instanceof SyntaxError)) throw error;
        });
        return client;
      } catch {
        return undefined;
      }
    },
    120_000,
    server.output,
  );
  const cluster = {
    server: `https://127.0.0.1:${port}`,
    'certificate-authority': file('certificates/apiserver.crt'),
  };
  const config = {
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'c' },
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'c', user: { token } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'c' } }],
  };
  file('kubeconfig', stringify(config));
  const client = [`--kubeconfig=${file('kubeconfig')}`, '--leader-elect=false', '--secure-port=0'];
  const controllers = start(
    'kube-controller-manager',
    ...client,
    `--controllers=${CONTROLLERS.join(',')}`,
    `--service-account-private-key-file=${file('accounts.key')}`,
    `--root-ca-file=${file('certificates/apiserver.crt')}`,
  );
  const scheduler = start('kube-scheduler', ...client);

  /** Runs a program of a client. Rejects with its output if it fails. */
  const run = async (program: string, ...args: string[]) => {
    const { all, stdout, stderr, failed, shortMessage } = await execa(program, args, {
      ...{ env, cwd: ROOT, all: true, reject: false, stdin: 'ignore' },
    });
    if (failed) throw new Error(`${shortMessage}\n${all}`);
    return { all, stdout, stderr };
  };
  return {
    ...{ api, env },
    run,
    /** Warnings and errors of the servers, for failed tests. */
    logs: () =>
      [server, controllers, scheduler]
        .map(({ output }) =>
          output()
            .replaceAll(/^I\d{4} .*\n/gm, '')
            .slice(-5000),
        )
        .join('\n'),
    kubectl: (...args: string[]) => run('kubectl', ...args),
    helm: (...args: string[]) => run('helm', ...args),
    /** Creates a namespace, and waits until pods can be created in it. */
    async createNamespace(name: string, labels: Record<string, string>): Promise<void> {
      await api.create('/api/v1/namespaces', { metadata: { name, labels } });
      await eventually('the namespace has its service account', () =>
        api.get(`/api/v1/namespaces/${name}/serviceaccounts/default`).catch(() => undefined),
      );
    },
    /** Installs the custom resource, webhooks and controller of JobSets. */
    async startJobSets(): Promise<void> {
      const certificates = file('webhooks');
      mkdirSync(certificates);
      copyFileSync(PEM_FILES.cert, join(certificates, 'tls.crt'));
      copyFileSync(PEM_FILES.key, join(certificates, 'tls.key'));
      const settings = {
        ...{ apiVersion: 'config.jobset.x-k8s.io/v1alpha1', kind: 'Configuration' },
        ...{ leaderElection: { leaderElect: false }, internalCertManagement: { enable: false } },
        webhook: { host: '127.0.0.1', port: webhooks, certDir: certificates },
        metrics: { bindAddress: '0', certDir: certificates },
        health: { healthProbeBindAddress: '0' },
      };
      const read = (path: string) => readFileSync(join(JOBSET_MODULE, 'config/components', path), 'utf8');
      await api.create(
        '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
        parse(read('crd/bases/jobset.x-k8s.io_jobsets.yaml')),
      );
      // Helm renders a JobSet only if the list of all resources has it.
      await eventually('JobSets are in the list of resources', async () => {
        const { items } = await api.get(
          '/apis',
          'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList',
        );
        return items.some(({ metadata }: Manifest) => metadata.name === 'jobset.x-k8s.io');
      });
      const controller = start('jobset-controller', `--config=${file('jobsets.yaml', stringify(settings))}`);
      // Logged when the webhooks are served.
      await controller.said(/Serving webhook server/);
      for (const document of parseAllDocuments(read('webhook/manifests.yaml'))) {
        const hooks: Manifest = document.toJS();
        for (const hook of hooks.webhooks) {
          const url = `https://127.0.0.1:${webhooks}${hook.clientConfig.service.path}`;
          hook.clientConfig = { url, caBundle: Buffer.from(PEM.cert).toString('base64') };
        }
        const kind = `${hooks.kind.toLowerCase()}s`;
        assert.match(kind, /^(mutating|validating)webhookconfigurations$/);
        await api.create(`/apis/admissionregistration.k8s.io/v1/${kind}`, hooks);
      }
    },
  };
}
