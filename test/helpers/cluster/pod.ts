/**
 * A pod on a stand-in node: its container is a process of test/helpers/container.ts, process 1 of its namespace, with
 * the pod's network, environment and volumes. It reports the status of the pod to the API server, and obeys deletion,
 * like the kubelet. Differences: one container per pod; no limits of memory and CPU; a readiness probe that has
 * succeeded is not repeated.
 */
import assert from 'node:assert/strict';
import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { execa } from 'execa';
import type { WebSocket } from 'ws';
import { type EnterOptions, enter } from '../container.ts';
import { type Manifest, withoutResolver } from '../deploy.ts';
import { eventually } from '../poll.ts';
import { textOf } from '../process.ts';
import type { KubernetesApi } from './api.ts';
import type { Machine } from './nodes.ts';
import { Output } from './output.ts';

/** Time before a container is started again. */
const BACK_OFF_MS = 1000;

interface Ended {
  exitCode: number;
  finishedAt: string;
}

export class StandInPod {
  readonly pod: Manifest;
  readonly #api: KubernetesApi;
  readonly #machine: Machine;
  readonly #host: ReturnType<Machine['network']['host']>;
  readonly #folder: string;
  readonly #stdout = new Output();
  readonly #stderr = new Output();
  /** Interleaved output, as in the container's log. */
  readonly #log = new Output();
  readonly #startTime = now();
  readonly #stopped = new AbortController();
  #process: ReturnType<typeof enter> | undefined;
  #life: Promise<void> | undefined;
  #deletion: Promise<void> | undefined;
  #restarts = 0;
  #exitCode: number | undefined;

  constructor(pod: Manifest, api: KubernetesApi, machine: Machine) {
    this.pod = pod;
    this.#api = api;
    this.#machine = machine;
    this.#folder = join(machine.folder, pod.metadata.uid);
    mkdirSync(this.#folder);
    this.#host = machine.network.host(`pod-${pod.metadata.uid.slice(0, 8)}`, 0);
  }

  /** Starts the pod. Resolves at its end. */
  run(): Promise<void> {
    this.#life ??= this.#run();
    return this.#life;
  }

  /** Sends SIGTERM, and SIGKILL after the grace period. Resolves at the end of the pod. */
  async stop(graceSeconds: number): Promise<void> {
    this.#stopped.abort();
    if (graceSeconds > 0) this.signal('SIGTERM');
    const timer = setTimeout(() => this.signal('SIGKILL'), graceSeconds * 1000);
    // The caller of `run` handles its errors.
    await this.#life?.catch(() => {});
    clearTimeout(timer);
  }

  /** Stops the pod, and confirms its deletion. */
  delete(graceSeconds: number): Promise<void> {
    this.#deletion ??= (async () => {
      await this.stop(graceSeconds);
      await this.#unlessGone(
        this.#api.delete(this.#path, { gracePeriodSeconds: 0, preconditions: { uid: this.pod.metadata.uid } }),
      );
    })();
    return this.#deletion;
  }

  signal(signal: NodeJS.Signals): void {
    const pid = this.#process?.pid;
    if (pid === undefined) return;
    const [first] = textOf(`/proc/${pid}/task/${pid}/children`).split(' ');
    if (first) process.kill(Number(first), signal);
  }

  /** Exit code of the container after the end of the pod. */
  get exitCode(): number | undefined {
    return this.#exitCode;
  }

  get log(): Output {
    return this.#log;
  }

  /** Passes on input, and all output from now on, in the protocol v5.channel.k8s.io. */
  async attach(socket: WebSocket): Promise<void> {
    const stdin = this.#process?.stdin;
    // A message with this number as first byte ends the input.
    socket.on('message', (data: Buffer) => (data[0] === 255 ? stdin?.end() : stdin?.write(data.subarray(1))));
    const send = async (channel: number, output: Output) => {
      for await (const part of output.follow(output.length)) socket.send(Buffer.concat([Buffer.of(channel), part]));
    };
    await Promise.all([send(1, this.#stdout), send(2, this.#stderr)]);
    socket.send(Buffer.concat([Buffer.of(3), Buffer.from(JSON.stringify({ metadata: {}, status: 'Success' }))]));
    socket.close(1000);
  }

  async #run(): Promise<void> {
    const { containers, initContainers = [], restartPolicy } = this.pod.spec;
    assert.deepEqual([containers.length, initContainers.length], [1, 0], 'a stand-in pod has one container');
    const [container] = containers;
    const options = await this.#options(container);
    for (;;) {
      const ended = await this.#runOnce(container, options);
      const again = restartPolicy === 'Always' || (restartPolicy === 'OnFailure' && ended.exitCode !== 0);
      const terminated = { ...ended, reason: ended.exitCode === 0 ? 'Completed' : 'Error' };
      if (!again || this.#stopped.signal.aborted) {
        this.#exitCode = ended.exitCode;
        await this.#report(ended.exitCode === 0 ? 'Succeeded' : 'Failed', { terminated });
        break;
      }
      await this.#report('Running', { waiting: { reason: 'CrashLoopBackOff' } });
      await delay(BACK_OFF_MS, undefined, { signal: this.#stopped.signal }).catch(() => {});
      this.#restarts++;
    }
    for (const output of [this.#stdout, this.#stderr, this.#log]) output.end();
  }

  async #runOnce(container: Manifest, options: EnterOptions): Promise<Ended & { startedAt: string }> {
    const startedAt = now();
    const command = [...container.command, ...(container.args ?? [])].map((word) => expand(word, options.env ?? {}));
    // The default of Redis' image.
    if (command[0] === 'redis-server') command.push('--protected-mode', 'no');
    const started = enter(this.#machine.imageOf(container.image), command, options);
    this.#process = started;
    if (!container.stdin) started.stdin?.end();
    for (const [stream, output] of [
      [started.stdout, this.#stdout],
      [started.stderr, this.#stderr],
      [started.all, this.#log],
    ] as const) {
      stream?.on('data', (part: Buffer) => output.add(part));
    }
    const ended = started.then(({ exitCode }) => exitCode ?? 137);
    const running = { running: { startedAt } };
    await this.#report('Running', running, container.readinessProbe === undefined);
    if (container.readinessProbe) {
      const over = new AbortController();
      void ended.then(() => over.abort());
      if (await this.#becomesReady(container, over.signal)) await this.#report('Running', running, true);
    }
    return { exitCode: await ended, startedAt, finishedAt: now() };
  }

  async #becomesReady({ readinessProbe, ports }: Manifest, over: AbortSignal): Promise<boolean> {
    const { httpGet, tcpSocket, periodSeconds } = readinessProbe;
    const wanted = (httpGet ?? tcpSocket).port;
    const port = ports.find(({ name }: Manifest) => name === wanted)?.containerPort ?? wanted;
    const at = `${this.#host.address}:${port}`;
    const script = httpGet
      ? `fetch('http://${at}${httpGet.path}').then(({ ok }) => process.exit(ok ? 0 : 1))`
      : `net.connect(${port}, '${this.#host.address}', () => process.exit(0))`;
    const [program = '', ...args] = [...this.#host.within, process.execPath, '-e', script];
    while (!over.aborted) {
      const { exitCode } = await execa(program, args, { reject: false, stdio: 'ignore' });
      if (exitCode === 0) return true;
      await delay(periodSeconds * 1000, undefined, { signal: over }).catch(() => {});
    }
    return false;
  }

  async #options(container: Manifest): Promise<EnterOptions> {
    const { securityContext = {}, volumes = [] } = this.pod.spec;
    const image = this.#machine.imageOf(container.image);
    const own = { ...securityContext, ...container.securityContext };
    const [imageUser, imageGroup] = image.user.split(':');
    const user = own.runAsUser ?? imageUser;
    assert.ok(!own.runAsNonRoot || Number(user) > 0, 'the container must not run as root');
    assert.ok(own.readOnlyRootFilesystem, 'a stand-in pod has a read-only root file system');
    const folders = new Map<string, string>();
    for (const volume of volumes) {
      folders.set(volume.name, await this.#volume(volume, securityContext.fsGroup));
    }
    const mounts = Object.fromEntries(
      (container.volumeMounts ?? []).map(({ name, mountPath }: Manifest) => [mountPath, folders.get(name)]),
    );
    const sysctls = (securityContext.sysctls ?? []).map(({ name, value }: Manifest) => [
      name.replaceAll('.', '/'),
      value,
    ]);
    return {
      ...{ within: this.#host.within, tmpfs: [], isFirst: true, sysctls: Object.fromEntries(sysctls) },
      user: `${user}:${own.runAsGroup ?? imageGroup}`,
      mounts: { '/etc/hosts': this.#machine.names, ...mounts },
      env: await this.#environment(container.env ?? []),
    };
  }

  /** @returns the folder of a volume, with its files */
  async #volume({ name, ...source }: Manifest, group: number | undefined): Promise<string> {
    const { configMap, secret, emptyDir, persistentVolumeClaim, ...other } = source;
    assert.deepEqual(other, {}, 'a stand-in pod has no such volume');
    const folder = join(this.#folder, name);
    mkdirSync(folder);
    if (emptyDir) {
      chmodSync(folder, 0o777);
    } else if (persistentVolumeClaim) {
      const claim = await this.#api.get(`${this.#namespace}/persistentvolumeclaims/${persistentVolumeClaim.claimName}`);
      const volume = await this.#api.get(`/api/v1/persistentvolumes/${claim.spec.volumeName}`);
      const { volumeHandle } = volume.spec.csi;
      if (group !== undefined) {
        await execa('chgrp', ['-R', String(group), volumeHandle]);
        await execa('chmod', ['-R', 'g+rwX', volumeHandle]);
      }
      return volumeHandle;
    } else {
      const path = configMap ? `configmaps/${configMap.name}` : `secrets/${secret.secretName}`;
      // The object may be created after the pod.
      const object = await eventually(`${path} exists`, () =>
        this.#unlessGone(this.#api.get(`${this.#namespace}/${path}`)),
      );
      for (const [file, value] of Object.entries<string>(object.data ?? {})) {
        const content = configMap ? withoutResolver(value) : Buffer.from(value, 'base64');
        writeFileSync(join(folder, file), content);
        chmodSync(join(folder, file), (configMap ?? secret).defaultMode ?? 0o644);
        if (group !== undefined) chownSync(join(folder, file), 0, group);
      }
    }
    return folder;
  }

  async #environment(list: Manifest[]): Promise<Record<string, string>> {
    const values: Record<string, string> = { HOSTNAME: this.pod.metadata.name };
    for (const { name, value = '', valueFrom } of list) {
      values[name] = valueFrom ? await this.#valueFrom(valueFrom) : expand(value, values);
    }
    return values;
  }

  async #valueFrom({ secretKeyRef, fieldRef }: Manifest): Promise<string> {
    if (secretKeyRef) {
      const path = `${this.#namespace}/secrets/${secretKeyRef.name}`;
      const { data } = await eventually(`${path} exists`, () => this.#unlessGone(this.#api.get(path)));
      return Buffer.from(data[secretKeyRef.key], 'base64').toString();
    }
    const [, map = '', key = ''] = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(fieldRef.fieldPath) ?? [];
    const found = this.pod.metadata[map]?.[key];
    assert.ok(found !== undefined, `no field ${fieldRef.fieldPath}`);
    return found;
  }

  async #report(phase: string, state: Manifest, ready = false): Promise<void> {
    const [{ name, image }] = this.pod.spec.containers;
    const isReady = ready ? 'True' : 'False';
    const conditions = ['PodScheduled', 'Initialized', 'ContainersReady', 'Ready'].map((type) => ({
      ...{ type, lastTransitionTime: now() },
      status: type.includes('Ready') ? isReady : 'True',
    }));
    const { address } = this.#host;
    const status = {
      ...{ phase, conditions, startTime: this.#startTime, hostIP: '127.0.0.1' },
      ...{ podIP: address, podIPs: [{ ip: address }] },
      containerStatuses: [
        { name, image, imageID: image, ready, started: 'running' in state, restartCount: this.#restarts, state },
      ],
    };
    // A pod with the same name may have replaced this one.
    await this.#unlessGone(
      this.#api.patch(`${this.#path}/status`, { metadata: { uid: this.pod.metadata.uid }, status }),
    );
  }

  async #unlessGone(work: Promise<Manifest>): Promise<Manifest | undefined> {
    try {
      return await work;
    } catch (error) {
      if (![404, 409].includes((error as { status: number }).status)) throw error;
      return undefined;
    }
  }

  get #namespace(): string {
    return `/api/v1/namespaces/${this.pod.metadata.namespace}`;
  }

  get #path(): string {
    return `${this.#namespace}/pods/${this.pod.metadata.name}`;
  }
}

/** Replaces `$(NAME)`. */
function expand(text: string, values: Record<string, string>): string {
  return text.replaceAll(/\$\((\w+)\)/g, (all, name) => values[name] ?? all);
}

function now(): string {
  return new Date().toISOString();
}
