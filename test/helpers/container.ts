/**
 * Substitute for a container runtime. It runs the steps of a Dockerfile in folders; each is the root of a mount
 * namespace. Commands run in the last folder like in a container: as its user, without capabilities, with a read-only
 * root. This machine's system (read-only) replaces the base image, and this Node replaces the image's Node. `npm ci`
 * only checks the manifests with package-lock.json; the packages are those of this checkout.
 */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmdirSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { basename, dirname, join, posix } from 'node:path';
import { type Copy, DockerfileParser } from 'dockerfile-ast';
import { execa, type ResultPromise } from 'execa';
import { findTool } from '../../server/stack/tools.ts';
import { ROOT } from './pages.ts';

/** Reason why containers are impossible on this machine; false if they are possible. */
export const NO_CONTAINERS =
  process.platform === 'linux' && process.getuid?.() === 0 ? false : 'mount namespaces need Linux and root';

export interface Stage {
  name: string;
  root: string;
  workdir: string;
  env: Record<string, string>;
  user: string;
}

export type Image = Awaited<ReturnType<typeof buildImage>>;

/** @throws Error with the output of a failed step, or the name of an unknown instruction */
export async function buildImage(dockerfile: string) {
  const folder = mkdtempSync(join(tmpdir(), 'image-'));
  // Uses a file system in memory. The stages have about 60,000 files, and their removal from a disk takes minutes.
  await execa('mount', ['-t', 'tmpfs', '-o', 'size=3g', 'tmpfs', folder]);
  const remove = async () => {
    await execa('umount', ['--lazy', folder]);
    rmdirSync(folder);
  };
  try {
    return { ...(await lastStage(folder, dockerfile)), remove };
  } catch (error) {
    await remove();
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
      await take(stage, keyword, args, base, from !== undefined);
    }
  }
  const last = stages.at(-1);
  if (!last) throw new Error('no stage');
  return last;
}

/** @returns an image that contains only this machine's programs */
export function newStage(folder: string, name: string): Stage {
  const root = join(folder, name);
  for (const point of ['usr', 'etc', 'dev', 'proc', 'tmp', 'root', 'npm-cache']) {
    mkdirSync(join(root, point), { recursive: true });
  }
  for (const link of ['bin', 'sbin', 'lib', 'lib64']) {
    if (existsSync(`/${link}`)) symlinkSync(readlinkSync(`/${link}`), join(root, link));
  }
  return { name, root, workdir: '/', env: {}, user: '0:0' };
}

async function take(stage: Stage, keyword: string, args: string, base: string, ofStage: boolean): Promise<void> {
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
    await copy(stage, base, args.split(' '), ofStage);
  } else if (keyword === 'RUN') {
    const installs = args.includes('npm ci');
    const production = installs && args.includes('--omit=dev');
    if (production) await copyModules(stage);
    const script = args.replaceAll('npm ci', 'npm ci --dry-run');
    const { all, failed } = await enter(stage, ['sh', '-c', script], { build: true, modules: installs && !production });
    if (failed) throw new Error(`RUN ${args}\n${all}`);
  } else if (keyword !== 'CMD') {
    throw new Error(`unknown instruction ${keyword}`);
  }
}

/** Copies files like Docker: the content of a folder, not the folder itself. */
async function copy(stage: Stage, base: string, paths: string[], ofStage: boolean): Promise<void> {
  // Links files of a finished stage instead of copying them, because it no longer changes.
  const link = ofStage ? ['-l'] : [];
  const to = paths.at(-1) ?? '.';
  const target = join(stage.root, posix.resolve(stage.workdir, to));
  const intoFolder = to.endsWith('/') || to === '.' || paths.length > 2;
  for (const source of paths.slice(0, -1).map((path) => join(base, path))) {
    const isFolder = statSync(source).isDirectory();
    mkdirSync(isFolder || intoFolder ? target : dirname(target), { recursive: true });
    const destination = isFolder ? target : intoFolder ? join(target, basename(source)) : target;
    await execa('cp', ['-a', ...link, isFolder ? `${source}/.` : source, destination]);
  }
}

/** Copies the files of the checkout. Ignored top-level folders are left out. */
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

/**
 * Copies the packages that `npm ci --omit=dev` would install. Links would let later steps change the originals.
 */
async function copyModules({ root, workdir }: Stage): Promise<void> {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
  const topLevel = Object.entries<{ dev?: boolean }>(packages)
    .filter(([path, { dev }]) => path.lastIndexOf('node_modules/') === 0 && !dev && existsSync(join(ROOT, path)))
    .map(([path]) => path);
  const target = join(root, workdir);
  await execa('cp', ['-a', '--parents', '-t', target, ...topLevel, 'node_modules/.bin'], { cwd: ROOT });
  // Removes links to missing programs. npm links only programs that exist.
  await execa('find', [join(target, 'node_modules/.bin'), '-xtype', 'l', '-delete']);
}

/** @returns the path of npm's start script; it must be below /usr */
function npmOnThisMachine(): string {
  return realpathSync(findTool('npm') as string);
}

export interface EnterOptions {
  /** Runs the command like a build step: as root, with a writable root file system, the network and npm's cache. */
  build?: boolean;
  /** Mounts the packages of this checkout read-only in the working directory. */
  modules?: boolean;
  env?: Record<string, string>;
  /** Mounts in the format of `docker run --tmpfs`. */
  tmpfs?: string[];
  /** Mounted paths of this machine, by path in the container. */
  mounts?: Record<string, string>;
  /** User as `uid:gid`; default: the image's user. */
  user?: string;
  /** Limit of open files; at most this machine's maximum. */
  openFiles?: number;
  /** Values of the network namespace, by path below /proc/sys. */
  sysctls?: Record<string, string>;
  /** Command that runs another command in a network namespace. */
  within?: string[];
  /** Runs the command as process 1, like Kubernetes. Default: below a shell, like Docker with `init: true`. */
  isFirst?: boolean;
}

/**
 * @returns the process, which never rejects and has the output in `all`; killing it also kills all of its descendants
 */
export function enter(
  image: Stage,
  command: string[],
  options: EnterOptions = {},
): ResultPromise<{ all: true; reject: false; extendEnv: false }> {
  const {
    build = false,
    modules = false,
    env = {},
    tmpfs = ['/tmp:mode=1777'],
    mounts = {},
    user = image.user,
  } = options;
  const { openFiles, sysctls = {}, within = [], isFirst = false } = options;
  const [uid = '', gid = ''] = user.split(':');
  // A change of the user clears the signal at the parent's death, which --kill-child has set.
  const become = build
    ? []
    : [
        'setpriv',
        '--pdeathsig=KILL',
        `--reuid=${uid}`,
        `--regid=${gid}`,
        '--clear-groups',
        '--no-new-privs',
        '--bounding-set=-all',
      ];
  const userConfig = join(homedir(), '.npmrc');
  const asBuild = `mount --bind "$NPM_CACHE" "$ROOT/npm-cache"
    ${modules ? `mkdir "$MODULES"; mount --bind ${ROOT}/node_modules "$MODULES"; mount -o remount,bind,ro "$MODULES"` : ''}
    ${existsSync(userConfig) ? `cp ${userConfig} "$ROOT/root/.npmrc"` : ''}`;
  const asContainer = `
    ${tmpfs
      .map((mount) => mount.split(':'))
      .map(([path, how]) => `mount -t tmpfs -o ${how} tmpfs "$ROOT${path}"`)
      .join('\n')}
    ${Object.entries(mounts)
      .map(([to, from]) => `place "${from}" "$ROOT${to}"`)
      .join('\n')}
    ${Object.entries(sysctls)
      .map(([path, value]) => `echo "${value}" > /proc/sys/${path}`)
      .join('\n')}
    ${openFiles === undefined ? '' : `ulimit -n ${openFiles} 2> /dev/null || ulimit -n $(ulimit -H -n)`}
    mount -o remount,bind,ro "$ROOT"`;
  const script = `set -e
    place() {
      if [ -d "$1" ]; then make="mkdir -p"; else make=touch; fi
      [ -e "$2" ] || $make "$2" 2> /dev/null || { mount -t tmpfs tmpfs "$(dirname "$2")"; $make "$2"; }
      mount --bind "$1" "$2"
    }
    mount --make-rprivate /
    mount --bind "$ROOT" "$ROOT"
    for name in usr etc; do mount --bind /$name "$ROOT/$name"; mount -o remount,bind,ro "$ROOT/$name"; done
    mount -t tmpfs tmpfs "$ROOT/usr/local/bin"
    cp "$NODE" "$ROOT/usr/local/bin/node"
    ln -s "$NPM" "$ROOT/usr/local/bin/npm"
    mount --rbind /dev "$ROOT/dev"
    mount -t proc proc "$ROOT/proc"
    ${build ? asBuild : asContainer}
    ${isFirst ? 'exec ' : ''}chroot "$ROOT" ${become.join(' ')} sh -c 'cd ${image.workdir} && exec "$@"' sh "$@"
    exit $?`;
  // A build inherits this machine's environment. A container has only the environment of its image.
  const inherited = build ? process.env : { PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin' };
  const unshare = ['unshare', '--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', script, 'sh'];
  const [program = '', ...args] = [...within, ...unshare, ...command];
  return execa(program, args, {
    all: true,
    reject: false,
    extendEnv: false,
    env: {
      ...inherited,
      ...(build && { HOME: '/root', npm_config_cache: '/npm-cache', PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin' }),
      ...image.env,
      ...env,
      ROOT: image.root,
      MODULES: join(image.root, image.workdir, 'node_modules'),
      NODE: process.execPath,
      NPM: npmOnThisMachine(),
      NPM_CACHE: join(homedir(), '.npm'),
    },
  });
}
