/**
 * A stand-in for a container runtime. It takes a Dockerfile's steps in folders, each of which is the root of a mount
 * namespace, and runs commands in the last one as a container would: as its user, without capabilities, with a
 * read-only root. This machine's system, read-only, takes the place of the base image, and this Node that of its Node.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { basename, dirname, join, posix } from 'node:path';
import { type Copy, DockerfileParser } from 'dockerfile-ast';
import { execa, type ResultPromise } from 'execa';
import { findTool } from '../../server/stack/tools.ts';
import { ROOT } from './pages.ts';

/** Why there can be no containers here; false if there can. */
export const NO_CONTAINERS =
  process.platform === 'linux' && process.getuid?.() === 0 ? false : 'mount namespaces need Linux and root';

interface Stage {
  name: string;
  root: string;
  workdir: string;
  env: Record<string, string>;
  user: string;
}

export type Image = Awaited<ReturnType<typeof buildImage>>;

/** @throws Error with the output of a step that fails, or of an instruction that this does not know */
export async function buildImage(dockerfile: string) {
  const folder = mkdtempSync(join(tmpdir(), 'image-'));
  /** All stages. */
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    return { ...(await lastStage(folder, dockerfile)), remove };
  } catch (error) {
    remove();
    throw error;
  }
}

async function lastStage(folder: string, dockerfile: string): Promise<Stage> {
  const stages: Stage[] = [];
  const context = join(folder, 'context');
  mkdirSync(context);
  await copyContext(context, `${dockerfile}.dockerignore`);
  for (const instruction of DockerfileParser.parse(readFileSync(dockerfile, 'utf8')).getInstructions()) {
    const [keyword, args] = [instruction.getKeyword(), instruction.getRawArgumentsContent() ?? ''];
    const stage = stages.at(-1);
    if (keyword === 'FROM') {
      stages.push(newStage(folder, / AS (\S+)/i.exec(args)?.[1] ?? 'last'));
    } else if (!stage) {
      if (keyword !== 'ARG') throw new Error(`${keyword} before FROM`);
    } else {
      const from = keyword === 'COPY' ? (instruction as Copy).getFromFlag()?.getValue() : undefined;
      const base = from ? stages.find(({ name }) => name === from)?.root : context;
      if (!base) throw new Error(`COPY from unknown stage ${from}`);
      await take(stage, keyword, args, base);
    }
  }
  const last = stages.at(-1);
  if (!last) throw new Error('no stage');
  return last;
}

function newStage(folder: string, name: string): Stage {
  const root = join(folder, name);
  for (const point of ['usr', 'etc', 'dev', 'proc', 'tmp', 'root', 'npm-cache']) {
    mkdirSync(join(root, point), { recursive: true });
  }
  return { name, root, workdir: '/', env: {}, user: '0:0' };
}

async function take(stage: Stage, keyword: string, args: string, base: string): Promise<void> {
  if (keyword === 'WORKDIR') {
    stage.workdir = posix.resolve(stage.workdir, args);
    mkdirSync(join(stage.root, stage.workdir), { recursive: true });
  } else if (keyword === 'ENV') {
    for (const [, name = '', value = ''] of args.replaceAll('\\\n', ' ').matchAll(/(\w+)=(\S+)/g)) {
      stage.env[name] = value;
    }
  } else if (keyword === 'USER') {
    stage.user = args;
  } else if (keyword === 'COPY') {
    await copy(stage, base, args.split(' '));
  } else if (keyword === 'RUN') {
    const { all, failed } = await enter(stage, ['sh', '-c', args], { build: true });
    if (failed) throw new Error(`RUN ${args}\n${all}`);
  } else if (keyword !== 'CMD') {
    throw new Error(`unknown instruction ${keyword}`);
  }
}

/** As Docker: of a folder, what is in it. */
async function copy(stage: Stage, base: string, paths: string[]): Promise<void> {
  const to = paths.at(-1) ?? '.';
  const target = join(stage.root, posix.resolve(stage.workdir, to));
  const intoFolder = to.endsWith('/') || to === '.' || paths.length > 2;
  for (const source of paths.slice(0, -1).map((path) => join(base, path))) {
    const isFolder = statSync(source).isDirectory();
    mkdirSync(isFolder || intoFolder ? target : dirname(target), { recursive: true });
    const destination = isFolder ? target : intoFolder ? join(target, basename(source)) : target;
    await execa('cp', ['-a', isFolder ? `${source}/.` : source, destination]);
  }
}

/** The files of the checkout, without those of ignored top-level folders. */
async function copyContext(context: string, ignoreFile: string): Promise<void> {
  const ignored = new Set(readFileSync(ignoreFile, 'utf8').trim().split('\n'));
  const { stdout } = await execa('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
    stripFinalNewline: false,
  });
  const files = stdout
    .split('\0')
    .filter((file) => file && !ignored.has(file.split('/')[0] ?? '') && existsSync(join(ROOT, file)));
  await execa('cp', ['-a', '--parents', '-t', context, ...files], { cwd: ROOT });
}

/** @returns the path of npm's start script, which must be below /usr */
function npmOnThisMachine(): string {
  return realpathSync(findTool('npm') as string);
}

interface EnterOptions {
  /** As a step of the build: root, in a root file system that can be written to, with the network and npm's cache. */
  build?: boolean;
  env?: Record<string, string>;
  /** Mounted at /results. */
  results?: string;
}

/**
 * @returns the process, which never rejects; its `all` is the output. Ending it ends everything that it has started
 */
export function enter(
  image: Stage,
  command: string[],
  options: EnterOptions = {},
): ResultPromise<{ all: true; reject: false; extendEnv: false }> {
  const { build = false, env = {}, results } = options;
  const [uid = '', gid = ''] = image.user.split(':');
  const become = build
    ? []
    : ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', '--no-new-privs', '--bounding-set=-all'];
  const userConfig = join(homedir(), '.npmrc');
  const script = `set -e
    mount --make-rprivate /
    mount --bind "$ROOT" "$ROOT"
    for name in bin sbin lib lib64; do [ -e "$ROOT/$name" ] || cp -P /$name "$ROOT/$name"; done
    for name in usr etc; do mount --bind /$name "$ROOT/$name"; mount -o remount,bind,ro "$ROOT/$name"; done
    mount -t tmpfs tmpfs "$ROOT/usr/local/bin"
    cp "$NODE" "$ROOT/usr/local/bin/node"
    ln -s "$NPM" "$ROOT/usr/local/bin/npm"
    mount --rbind /dev "$ROOT/dev"
    mount -t proc proc "$ROOT/proc"
    ${build ? 'mount --bind "$NPM_CACHE" "$ROOT/npm-cache"' : 'mount -t tmpfs -o mode=1777 tmpfs "$ROOT/tmp"'}
    ${build && existsSync(userConfig) ? `cp ${userConfig} "$ROOT/root/.npmrc"` : ''}
    ${results ? `mount --bind "${results}" "$ROOT/results"` : ''}
    ${build ? '' : 'mount -o remount,bind,ro "$ROOT"'}
    chroot "$ROOT" ${become.join(' ')} sh -c 'cd ${image.workdir} && exec "$@"' sh "$@"
    # Not replaced by it: whoever becomes another user is no longer killed together with its parent.
    exit $?`;
  // The network's settings of a build are this machine's; a container has only those of its image.
  const inherited = build ? process.env : { PATH: '/usr/local/bin:/usr/bin:/bin' };
  return execa('unshare', ['--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', script, 'sh', ...command], {
    all: true,
    reject: false,
    extendEnv: false,
    env: {
      ...inherited,
      ...(build && { HOME: '/root', npm_config_cache: '/npm-cache', PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin' }),
      ...image.env,
      ...env,
      ROOT: image.root,
      NODE: process.execPath,
      NPM: npmOnThisMachine(),
      NPM_CACHE: join(homedir(), '.npm'),
    },
  });
}
