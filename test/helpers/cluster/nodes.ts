/**
 * Stand-ins for nodes of a cluster. The scheduler of the control plane assigns pods to them; each pod is a
 * `StandInPod`. Differences from real nodes:
 * - All nodes are this machine. All pods are in one network, without network policies and kube-proxy.
 * - A hosts file, written from the endpoints that the API server has, resolves the names of services. The name of a
 * service with its own address resolves to its pods, so only services that keep the port of their pods work.
 */

import { writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { WebSocketServer } from 'ws';
import { newStage, type Stage } from '../container.ts';
import type { Manifest } from '../deploy.ts';
import { NamespaceNetwork } from '../namespaces.ts';
import { PEM } from '../pem.ts';
import { type Cleaner, listen } from '../raw-listen.ts';
import { tempFolder } from '../temp-folder.ts';
import type { ControlPlane } from './control-plane.ts';
import { StandInPod } from './pod.ts';

export interface Machine {
  folder: string;
  network: NamespaceNetwork;
  /** Hosts file of all pods. */
  names: string;
  /** Returns the root file system for the image of a container. */
  imageOf(name: string): Stage;
}

export type Nodes = Awaited<ReturnType<typeof startNodes>>;

/**
 * Adds nodes to the cluster. They end with the test.
 * @param image built image of the charts; programs of this machine replace other images
 */
export async function startNodes(t: Cleaner, { api }: ControlPlane, image: Stage, count: number) {
  const folder = tempFolder(t);
  const system = newStage(folder, 'system');
  const machine: Machine = {
    folder,
    network: new NamespaceNetwork(t),
    names: join(folder, 'hosts'),
    imageOf: (name) => (/(^|\/)socketio-capacity:/.test(name) ? image : system),
  };
  const pods = new Map<string, StandInPod>();
  const stop = new AbortController();
  /** Rejects with the first failure of a stand-in, which is no failure of a container. */
  const failure = Promise.withResolvers<never>();
  failure.promise.catch(() => {});
  const guard = (work: Promise<unknown>) => void work.catch(failure.reject);
  const podAt = (path: string) => {
    const [, , namespace, name] = path.split('/');
    return [...pods.values()].find(
      ({ pod: { metadata } }) => metadata.namespace === namespace && metadata.name === name,
    );
  };

  const kubelet = createServer(PEM, async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'https://kubelet');
    const found = pathname.startsWith('/containerLogs/') ? podAt(pathname) : undefined;
    if (!found) return response.writeHead(404).end();
    if (searchParams.get('follow') !== 'true') return response.end(found.log.now());
    for await (const part of found.log.follow(0)) response.write(part);
    response.end();
  });
  const attached = new WebSocketServer({ server: kubelet, handleProtocols: () => 'v5.channel.k8s.io' });
  attached.on('connection', (socket, { url = '' }) => {
    const found = podAt(new URL(url, 'https://kubelet').pathname);
    if (found) guard(found.attach(socket));
    else socket.close();
  });
  const port = await listen(t, kubelet);

  for (const name of Array.from({ length: count }, (_, index) => `node-${index}`)) {
    const labels = { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux' };
    await api.create('/api/v1/nodes', { metadata: { name, labels } });
    const resources = { cpu: '64', memory: '128Gi', pods: '110', 'ephemeral-storage': '100Gi' };
    await api.patch(`/api/v1/nodes/${name}/status`, {
      status: {
        ...{ capacity: resources, allocatable: resources },
        conditions: [{ type: 'Ready', status: 'True', reason: 'StandIn', message: 'stand-in' }],
        addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
        daemonEndpoints: { kubeletEndpoint: { Port: port } },
        // Without it, the API server attaches by SPDY.
        declaredFeatures: ['ExtendWebSocketsToKubelet'],
      },
    });
    // The API server adds this taint to new nodes; the controller that removes it needs heartbeats.
    await api.patch(`/api/v1/nodes/${name}`, { spec: { taints: null } });
  }

  guard(
    api.watch('/api/v1/pods', stop.signal, ({ type, object }) => {
      const { uid, deletionTimestamp, deletionGracePeriodSeconds } = object.metadata;
      let pod = pods.get(uid);
      if (type === 'DELETED') {
        pods.delete(uid);
        if (pod) guard(pod.stop(0));
      } else if (object.spec.nodeName && !pod && !deletionTimestamp) {
        pod = new StandInPod(object, api, machine);
        pods.set(uid, pod);
        guard(pod.run());
      } else if (pod && deletionTimestamp) {
        guard(pod.delete(deletionGracePeriodSeconds));
      }
    }),
  );
  const slices = new Map<string, Manifest>();
  guard(
    api.watch('/apis/discovery.k8s.io/v1/endpointslices', stop.signal, ({ type, object }) => {
      if (type === 'DELETED') slices.delete(object.metadata.uid);
      else slices.set(object.metadata.uid, object);
      writeFileSync(machine.names, hostsFile([...slices.values()]));
    }),
  );
  writeFileSync(machine.names, hostsFile([]));
  t.after(async () => {
    stop.abort();
    await Promise.all([...pods.values()].map((pod) => pod.stop(0)));
  });
  return {
    /** Returns the pod on a node; undefined if there is none. */
    pod: (namespace: string, prefix: string) =>
      [...pods.values()].find(
        ({ pod: { metadata } }) => metadata.namespace === namespace && metadata.name.startsWith(prefix),
      ),
    /** Waits for the work, or for a failure of a stand-in. */
    during: <T>(work: Promise<T>): Promise<T> => Promise.race([work, failure.promise]),
  };
}

/** @returns lines with all names that the DNS of a cluster gives to the endpoints of services */
function hostsFile(slices: Manifest[]): string {
  const lines = slices.flatMap(({ metadata, endpoints }) => {
    const service = metadata.labels?.['kubernetes.io/service-name'];
    const names = (host: string) => [
      ...[host, `${host}.${metadata.namespace}`, `${host}.${metadata.namespace}.svc`],
      `${host}.${metadata.namespace}.svc.cluster.local`,
    ];
    return (endpoints ?? [])
      .filter(({ conditions }: Manifest) => conditions.ready)
      .flatMap(({ addresses, hostname }: Manifest) => [
        `${addresses[0]} ${names(service).join(' ')}`,
        ...(hostname ? [`${addresses[0]} ${names(`${hostname}.${service}`).join(' ')}`] : []),
      ]);
  });
  return ['127.0.0.1 localhost', ...lines, ''].join('\n');
}
