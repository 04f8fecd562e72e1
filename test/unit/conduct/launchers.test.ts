import assert from 'node:assert/strict';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { launchHosts } from '../../../plugin/conduct/hosts/launch/launch.ts';
import { parseLauncher } from '../../../plugin/conduct/hosts/launch/launchers.ts';
import { eventually } from '../../helpers/poll.ts';
import { tempFolder } from '../../helpers/temp-folder.ts';

function hostsFile(t: TestContext, text: string): string {
  const file = join(tempFolder(t), 'hosts.txt');
  writeFileSync(file, text);
  return `ssh:${file}`;
}

/** Puts a script named `ssh` first in PATH during the test. */
function standIn(t: TestContext, script: string): string {
  const folder = tempFolder(t);
  writeFileSync(join(folder, 'ssh'), `#!/bin/sh\ncd ${folder}\n${script}`);
  chmodSync(join(folder, 'ssh'), 0o755);
  const { PATH } = process.env;
  process.env.PATH = `${folder}${delimiter}${PATH}`;
  t.after(() => {
    process.env.PATH = PATH;
  });
  return folder;
}

describe('the hosts of --on ssh', () => {
  it('reads users, ports and folders of the ssh hosts, and passes the join token by standard input only', (t) => {
    const text = "# all\nload-1\nroot@10.0.0.2:2222 ~/it's here # the second\n\nme@[fe80::1]:22 /srv/load\nunused\n";
    const commands = parseLauncher(hostsFile(t, text), 3)('secret', 3);
    const shown = commands.map(({ name, args }) => [
      name,
      ...args.slice(args.findIndex((arg) => /^-(p|-)$/.test(arg))),
    ]);
    const start = 'exec npx --no -- socketio-capacity host --stdin';
    assert.deepEqual(shown, [
      ['load-1', '--', 'load-1', start],
      ['root@10.0.0.2', '-p', '2222', '--', 'root@10.0.0.2', `cd 'it'\\''s here' && ${start}`],
      ['me@[fe80::1]', '-p', '22', '--', 'me@fe80::1', `cd '/srv/load' && ${start}`],
    ]);
    assert.doesNotMatch(JSON.stringify(commands.map(({ args, env }) => [args, env])), /secret/);
    assert.deepEqual(JSON.parse(commands[1]?.input ?? ''), { CAPACITY_CONDUCTOR: 'secret', CAPACITY_HOST: '1' });
  });

  for (const [what, text, message] of [
    ['an option in place of a host', '-oProxyCommand=x\n', /line 1.*-oProxyCommand/],
    ['a port out of range', 'a\nb:70000\n', /line 2.*b:70000/],
    ['fewer hosts than asked for', 'a\n', /has 1 hosts, but --hosts asks for 2/],
  ] as const) {
    it(`refuses a file of ssh hosts with ${what}`, (t) => {
      assert.throws(() => parseLauncher(hostsFile(t, text), 2), { code: 'CONFIG_INVALID', message });
    });
  }
});

it('refuses `--on kubernetes`, and suggests the Helm chart', () => {
  assert.throws(() => parseLauncher('kubernetes', 2), { code: 'CONFIG_INVALID', fix: /deploy\/helm\/load/ });
});

describe('a launch', () => {
  it('a launch keeps standard input open until it ends, and prefixes the output of each host', async (t) => {
    const folder = standIn(t, 'read -r line; echo "$line" > in; echo started; cat > /dev/null; echo closed\n');
    const lines: string[] = [];
    const launched = launchHosts(parseLauncher(hostsFile(t, 'a\n'), 1)('secret', 1), (line) => lines.push(line));
    await eventually('its output', () => lines.includes('a: started'));
    assert.equal(JSON.parse(readFileSync(join(folder, 'in'), 'utf8')).CAPACITY_CONDUCTOR, 'secret');
    await launched.end(0);
    assert.deepEqual(lines, ['a: started', 'a: closed']);
    assert.equal(launched.failed.aborted, false);
  });

  it('a failed launch is reported with its host and the last line of its output', async (t) => {
    standIn(t, 'echo "Permission denied (publickey)." >&2; exit 255\n');
    const launched = launchHosts(parseLauncher(hostsFile(t, 'a\n'), 1)('secret', 1), () => {});
    await eventually('the failure', () => launched.failed.aborted);
    assert.equal(launched.failed.reason.code, 'START_FAILED');
    assert.match(launched.failed.reason.message, /by a ended with exit code 255: Permission denied/);
    await launched.end(0);
  });

  it('interrupting a launch also ends every process that it has started', async () => {
    const lines: string[] = [];
    const line = 'trap : INT; sh -c \'trap "echo inner; exit" INT; echo up; while :; do sleep 0.05; done\'; echo outer';
    const launched = launchHosts(parseLauncher(`command:${line}`, 1)('secret', 1), (text) => lines.push(text));
    await eventually('its start', () => lines.includes('command: up'));
    await launched.end(0);
    assert.ok(lines.includes('command: outer'), lines.join('\n'));
  });
});
