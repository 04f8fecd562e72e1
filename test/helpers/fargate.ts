/**
 * AWS as far as `artillery run-fargate` needs it: moto answers its APIs, and a stand-in for ECS runs the worker script
 * that Artillery's image has, for each task in a process namespace of its own, since that script looks for `node` and
 * `artillery` among all processes, and signals those that it finds.
 */
import { spawn } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { delimiter, dirname, join } from 'node:path';
import { execa, type ResultPromise } from 'execa';
import { freePorts } from '../../server/stack/ports.ts';
import { NO_CONTAINERS } from './container.ts';
import { packAll, place } from './packages.ts';
import { ROOT } from './pages.ts';
import { eventually } from './poll.ts';
import { findTool, missingTools } from './tools.ts';

const REGION = 'us-east-1';
const CLUSTER = 'artilleryio-cluster';
const WORKER_FOLDER = join(ROOT, 'node_modules/artillery/lib/platform/aws-ecs/worker');
/** What the worker script runs, apart from what the stand-in has. */
const TOOLS = ['moto_server', 'aws', 'jq', 'curl', 'zip', 'unzip', 'pgrep', 'unshare'];

/** Why this cannot run here; false if it can. */
export function withoutFargate(): string | false {
  return NO_CONTAINERS || missingTools(...TOOLS);
}

export interface Fargate {
  /** Ends as `artillery run-fargate` does; its `all` is the output. */
  run(script: string, args: string[]): ResultPromise<{ all: true; reject: false }>;
  /** Output of the tasks so far. */
  tasks(): string;
  close(): Promise<void>;
}

/** @param folder an empty one, which the caller removes */
export async function startFargate(folder: string): Promise<Fargate> {
  const [port = 0] = await freePorts(1);
  const endpoint = `http://127.0.0.1:${port}`;
  const moto = spawn('moto_server', ['-H', '127.0.0.1', '-p', String(port)], { stdio: 'ignore', detached: true });
  const running = new Map<string, ResultPromise>();
  let output = '';
  const metadata = createServer((request, response) => {
    response.end(JSON.stringify({ TaskARN: decodeURIComponent(request.url?.split('/')[1] ?? '') }));
  });
  await new Promise<void>((resolve) => metadata.listen(0, '127.0.0.1', resolve));
  const { port: metadataPort } = metadata.address() as AddressInfo;
  let closed = false;
  let watching: Promise<void> | undefined;

  async function close() {
    closed = true;
    await watching;
    for (const task of running.values()) task.kill('SIGKILL');
    await Promise.allSettled(running.values());
    metadata.close();
    // With the processes of its shims.
    if (moto.pid) process.kill(-moto.pid, 'SIGKILL');
  }

  try {
    const isUp = () =>
      fetch(`${endpoint}/moto-api/`).then(
        ({ ok }) => ok,
        () => false,
      );
    await eventually('moto is up', isUp, 60_000);
    const subnet = await prepare(endpoint);
    const artillery = await install(folder);
    const env = {
      PATH: [join(folder, 'bin'), dirname(process.execPath), process.env.PATH].join(delimiter),
      AWS_ENDPOINT_URL: endpoint,
      AWS_ACCESS_KEY_ID: 'test',
      AWS_SECRET_ACCESS_KEY: 'test',
      AWS_REGION: REGION,
      AWS_DEFAULT_REGION: REGION,
      ARTILLERY_DISABLE_TELEMETRY: 'true',
      // Each of them asks moto all the time.
      SQS_CONSUMER_POOL_SIZE: '2',
    };
    // Under a path like that of the image: it takes every process with `node` in its command line for Artillery's.
    const workerScript = join(folder, 'artillery/loadgen-worker');
    cpSync(WORKER_FOLDER, dirname(workerScript), { recursive: true });
    const startTask = ({ taskArn, overrides }: Task) => {
      const [container] = overrides.containerOverrides;
      const cwd = join(folder, 'tasks', taskArn.split('/').at(-1) ?? '');
      mkdirSync(cwd, { recursive: true });
      const script = 'mount --make-rprivate / && mount -t proc proc /proc && exec "$@"';
      const args = ['--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', script, 'sh', 'bash', workerScript];
      const task = execa('unshare', [...args, ...(container?.command ?? [])], {
        cwd,
        all: true,
        reject: false,
        extendEnv: false,
        env: {
          ...env,
          HOME: cwd,
          PACKAGES: join(folder, 'packages'),
          ARTILLERY_BINARY: artillery,
          ARTILLERY_PLUGIN_PATH: join(ROOT, 'node_modules/artillery/dist/lib/platform/aws-ecs/legacy/plugins'),
          ECS_CONTAINER_METADATA_URI_V4: `http://127.0.0.1:${metadataPort}/${encodeURIComponent(taskArn)}`,
          ...Object.fromEntries((container?.environment ?? []).map(({ name, value }) => [name, value])),
        },
      });
      task.all.on('data', (data) => {
        output += data;
      });
      running.set(taskArn, task);
    };
    const watch = async () => {
      while (!closed) {
        for (const task of await listTasks(endpoint)) if (!running.has(task.taskArn)) startTask(task);
        await new Promise((resolve) => setTimeout(resolve, 500));
      }
    };
    return {
      run: (script, args) => {
        watching ??= watch();
        const options = ['run-fargate', '--region', REGION, '--subnet-ids', subnet, ...args, script];
        return execa(process.execPath, [artillery, ...options], {
          cwd: dirname(script),
          all: true,
          reject: false,
          env: { ...env, HOME: folder },
        });
      },
      tasks: () => output,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

interface Task {
  taskArn: string;
  overrides: { containerOverrides: { command: string[]; environment: { name: string; value: string }[] }[] };
}

/** @returns all tasks that have been asked to run */
async function listTasks(endpoint: string): Promise<Task[]> {
  const { taskArns = [] } = await ecs(endpoint, 'ListTasks', { cluster: CLUSTER });
  if (taskArns.length === 0) return [];
  return (await ecs(endpoint, 'DescribeTasks', { cluster: CLUSTER, tasks: taskArns })).tasks;
}

/** @returns a subnet for the tasks */
async function prepare(endpoint: string): Promise<string> {
  // Otherwise, a task is a step nearer to its end each time somebody asks how it is.
  const transition = { model_name: 'ecs::task', transition: { progression: 'manual', times: 1_000_000 } };
  await fetch(`${endpoint}/moto-api/state-manager/set-transition`, {
    method: 'POST',
    body: JSON.stringify(transition),
  });
  // Artillery waits half a minute after it has made the role itself.
  await query(endpoint, 'iam', {
    Action: 'CreateRole',
    Version: '2010-05-08',
    RoleName: 'artilleryio-ecs-worker-role',
    AssumeRolePolicyDocument: '{"Version":"2012-10-17","Statement":[]}',
  });
  const subnets = await query(endpoint, 'ec2', { Action: 'DescribeSubnets', Version: '2016-11-15' });
  const [subnet] = /subnet-\w+/.exec(subnets) ?? [];
  if (!subnet) throw new Error(`moto has no subnet: ${subnets}`);
  return subnet;
}

// biome-ignore lint/suspicious/noExplicitAny: as many shapes as requests
async function ecs(endpoint: string, action: string, body: object): Promise<any> {
  const response = await fetch(endpoint, {
    method: 'POST',
    headers: {
      authorization: authorization('ecs'),
      'content-type': 'application/x-amz-json-1.1',
      'x-amz-target': `AmazonEC2ContainerServiceV20141113.${action}`,
    },
    body: JSON.stringify(body),
  });
  // Without the cluster, which Artillery makes, there are no tasks either.
  return response.ok ? response.json() : {};
}

async function query(endpoint: string, service: string, parameters: Record<string, string>): Promise<string> {
  const response = await fetch(endpoint, {
    method: 'POST',
    headers: { authorization: authorization(service) },
    body: new URLSearchParams(parameters),
  });
  return response.text();
}

/** From it, moto knows for whom a request is. */
function authorization(service: string): string {
  return `AWS4-HMAC-SHA256 Credential=test/20260101/${REGION}/${service}/aws4_request, SignedHeaders=host, Signature=0`;
}

/**
 * Artillery as in its image, beside which our packages are not installed; and the commands of the image that this
 * machine need not have. Its `npm` installs our packed packages, which are not on npm's registry; their dependencies
 * are this repository's.
 * @returns the path of Artillery's start script
 */
async function install(folder: string): Promise<string> {
  const packed = await packAll();
  cpSync(packed.folder, join(folder, 'packages'), { recursive: true });
  place(folder, 'artillery');
  const modules = join(folder, 'node_modules');
  const present = ['artillery', '.bin', ...Object.keys(packed.tarballs)];
  for (const name of readdirSync(join(ROOT, 'node_modules'))) {
    if (!present.includes(name)) symlinkSync(join(ROOT, 'node_modules', name), join(modules, name));
  }
  const npm = `[ "$1" = init ] && echo '{}' > package.json
    for name; do
      for file in "$PACKAGES/$name"-[0-9]*.tgz; do
        [ -e "$file" ] || continue
        mkdir -p "node_modules/$name" && tar -xzf "$file" -C "node_modules/$name" --strip-components=1 || exit 1
      done
    done`;
  const commands = {
    npm,
    pwgen: 'od -An -N16 -tx1 /dev/urandom | tr -d " \\n"',
    tree: ':',
    // Its installation may be in the home folder, and the worker's is another one. Of `sqs`, version 1 of the command
    // line heeds no variable.
    aws: `HOME="${process.env.HOME}" exec "${findTool('aws')}" --endpoint-url "$AWS_ENDPOINT_URL" "$@"`,
  };
  mkdirSync(join(folder, 'bin'));
  for (const [name, text] of Object.entries(commands)) {
    writeFileSync(join(folder, 'bin', name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(folder, 'bin', name), 0o755);
  }
  const { bin } = JSON.parse(readFileSync(join(modules, 'artillery/package.json'), 'utf8'));
  return join(modules, 'artillery', bin.artillery);
}
