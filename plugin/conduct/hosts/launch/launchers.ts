/** Parses the option `--on`, which determines how the run starts its hosts. */
import { readFileSync } from 'node:fs';
import { formatProblems, type InputProblem } from '../../../../protocol/base/problems.ts';
import { CapacityError } from '../../../../protocol/codes/errors.ts';
import type { HostLauncher } from './launch.ts';

/**
 * Pattern of a line in the file of hosts. A destination must not begin with a dash, because ssh would take it for an
 * option.
 */
const HOST_LINE = /^((?:[\w.-]+@)?[\w.][\w.-]*|(?:[\w.-]+@)?\[[\da-fA-F:]+\])(?::(\d{1,5}))?(?:\s+(\S.*))?$/;
/** Options with which ssh detects a broken network and never asks for a password. */
const SSH_OPTIONS = ['BatchMode=yes', 'ConnectTimeout=15', 'ServerAliveInterval=5', 'ServerAliveCountMax=6'];

interface SshHost {
  destination: string;
  port: string | undefined;
  /** Folder with packages and scenario on the host, relative to the home folder. */
  folder: string | undefined;
}

/**
 * Parses the option `--on`.
 * @param on `ssh:<file>` or `command:<line>`
 * @param hosts number of hosts that the run needs
 * @throws CapacityError CONFIG_INVALID, FILE_UNREADABLE
 */
export function parseLauncher(on: string, hosts: number): HostLauncher {
  const [, kind, rest = ''] = /^(ssh|command):(.+)$/s.exec(on) ?? [];
  if (kind === 'ssh') return sshLauncher(readHostsFile(rest, hosts));
  if (kind === 'command') return commandLauncher(rest);
  const isKubernetes = on === 'kubernetes';
  throw new CapacityError(
    'CONFIG_INVALID',
    `--on: expected ssh:<file> or command:<command line>, not ${on}`,
    isKubernetes ? 'install the chart deploy/helm/load, which runs this command in the cluster' : 'correct --on',
  );
}

/** Returns one command that starts all hosts, with the join token in its environment. */
function commandLauncher(line: string): HostLauncher {
  return (joinToken, hosts) => {
    const env = { CAPACITY_CONDUCTOR: joinToken, CAPACITY_HOSTS: String(hosts) };
    return [{ name: 'command', program: 'sh', args: ['-c', line], env }];
  };
}

/**
 * Returns an `ssh` command for each host. The join token is sent through standard input, because all users of a machine
 * can see command lines.
 */
function sshLauncher(list: SshHost[]): HostLauncher {
  return (joinToken) =>
    list.map(({ destination, port, folder }, index) => ({
      name: destination,
      program: 'ssh',
      args: [
        ...['-T', ...SSH_OPTIONS.flatMap((option) => ['-o', option])],
        ...(port === undefined ? [] : ['-p', port]),
        ...['--', destination.replace(/[[\]]/g, ''), `${folder ? `cd ${quoted(folder)} && ` : ''}${HOST_COMMAND}`],
      ],
      input: JSON.stringify({ CAPACITY_CONDUCTOR: joinToken, CAPACITY_HOST: String(index) }),
    }));
}

/** The option `--no` prevents npx from downloading a package with this name. */
const HOST_COMMAND = 'exec npx --no -- socketio-capacity host --stdin';

/** Quotes the path of a folder for a shell. Removes a leading `~/`, because the commands start in the home folder. */
function quoted(folder: string): string {
  return `'${folder.replace(/^~\//, '').replaceAll("'", `'\\''`)}'`;
}

/** Reads a file with lines of the form `user@host[:port] [folder]`; skips empty lines and comments. */
function readHostsFile(path: string, hosts: number): SshHost[] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    throw new CapacityError('FILE_UNREADABLE', `${path} cannot be read`, FILE_FIX, { cause });
  }
  const problems: InputProblem[] = [];
  const list = text.split('\n').flatMap((line, index): SshHost[] => {
    const content = line.replace(/(^|\s)#.*/, '').trim();
    if (content === '') return [];
    const [, destination, port, folder] = HOST_LINE.exec(content) ?? [];
    if (destination !== undefined && Number(port ?? 22) <= 65_535) return [{ destination, port, folder }];
    problems.push({ path: `line ${index + 1}`, message: `expected user@host[:port] [folder], not ${content}` });
    return [];
  });
  if (problems.length > 0) {
    throw new CapacityError('CONFIG_INVALID', `${path} has mistakes\n${formatProblems(problems)}`, FILE_FIX);
  }
  if (list.length < hosts) {
    const message = `${path} has ${list.length} hosts, but --hosts asks for ${hosts}`;
    throw new CapacityError('CONFIG_INVALID', message, 'add hosts to the file, or ask for fewer');
  }
  return list.slice(0, hosts);
}

const FILE_FIX = 'write a line for each host: user@host[:port] [folder]';
