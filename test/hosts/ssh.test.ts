/** Tests the ssh recipe of docs/guide/several-hosts.md with a real sshd on each host: a search, and Ctrl-C. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { searchSchema } from '../../protocol/documents/search-schema.ts';
import { columns } from '../helpers/columns.ts';
import { NamespaceNetwork } from '../helpers/namespaces.ts';
import { codeBlocks, page, ROOT } from '../helpers/pages.ts';
import { eventually } from '../helpers/poll.ts';
import { hasReached, latestResult, quickScript } from '../helpers/run.ts';
import { SshHosts, whyNoSshHosts } from '../helpers/ssh-hosts.ts';

const LIMIT_MS = 600_000;
/** Number of connections after which the server refuses further ones. */
const SERVER_LIMIT = 30;
const NAMES = ['load-1', 'load-2', 'load-3'];
const SEARCH = 'search-32k-connections';

/**
 * Returns the command from the guide.
 * @param address address of the conductor
 */
function recipe(address: string, target: string): { command: string; hosts: string } {
  const guide = page('docs/guide/several-hosts.md');
  const command = codeBlocks(guide, 'sh').find((block) => block.includes('--on ssh:hosts.txt'));
  const hosts = codeBlocks(guide, '').find((block) => block.startsWith('# hosts.txt'));
  assert.ok(command && hosts, 'the guide has both');
  assert.match(command, /TARGET=https:\/\/staging\.example\.com [\s\S]*--listen 10\.0\.0\.5:3401/);
  return { command: command.replace('https://staging.example.com', target).replace('10.0.0.5', address), hosts };
}

/** Starts a server and generator hosts, and types the recipe into a terminal on another host. */
async function typeRecipe(t: TestContext, { more = '', hold = 0.2 } = {}) {
  const network = new NamespaceNetwork(t);
  const serverHost = network.host('server', 0);
  const script = join(ROOT, 'test/fixtures/plain-server.mjs');
  const server = serverHost.start([process.execPath, script, String(SERVER_LIMIT), '0', '0.0.0.0']);
  const [, port] = await server.said(/^\d+\n(\d+)\n/);
  const ssh = new SshHosts(t, network);
  const added = await Promise.all(['conductor', ...NAMES].map((name, index) => ssh.add(name, index * 86_400)));
  const [conductor, ...hosts] = added;
  assert.ok(conductor);
  const phases = [{ duration: 2, arrivalRate: 9, rampTo: 9 }];
  const scenario = quickScript({ target: 'http://$none', phases }, { warmUp: 0, hold }, {}, [
    { connect: {} },
    { hold: true },
  ] as never);
  const { command, hosts: file } = recipe(conductor.address, `http://${serverHost.address}:${port}`);
  const folderOf = (home: string) => join(home, 'load-test');
  for (const { home } of added) {
    const folder = folderOf(home);
    mkdirSync(join(folder, 'scenarios'), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    writeFileSync(join(folder, 'scenarios/32k.yml'), JSON.stringify(scenario));
  }
  const folder = folderOf(conductor.home);
  writeFileSync(join(folder, 'hosts.txt'), file);
  const terminal = ssh.type(conductor, `cd load-test && ${command.trim()} ${more}`, {});
  const isOver = () => terminal.child.exitCode !== null;
  const results = join(folder, 'results', SEARCH);
  const log = () => readFileSync(join(results, 'logs/1.log'), 'utf8');
  const latest = () => latestResult(join(results, 'runs'));
  return {
    terminal,
    log,
    latest,
    search: () => searchSchema.parse(JSON.parse(readFileSync(join(results, 'search.json'), 'utf8'))),
    ended: async () => {
      await eventually('the end', isOver, LIMIT_MS, terminal.output);
      return terminal.ended;
    },
    reached: (stage: string) =>
      eventually(
        `stage ${stage}`,
        () => isOver() || hasReached(latest(), stage),
        LIMIT_MS,
        () => terminal.output() + log(),
      ),
    /** Waits until only the original sshd runs on the hosts. */
    nothingLeft: () =>
      eventually(
        'the end of all processes',
        () => hosts.every(({ sshd }) => sshd.running().length === 1),
        LIMIT_MS,
        () => hosts.flatMap(({ sshd }) => sshd.running()).join('\n'),
      ),
  };
}

describe('the recipe for ssh', { skip: whyNoSshHosts(), timeout: 1_300_000 }, () => {
  it('the ssh recipe finds the limit of a server with three hosts, and leaves nothing on the hosts', async (t) => {
    // Four runs: a level that holds, one that breaks, and each once more.
    const more = '--from 28 --factor 1.22 --times 1 --rest 0 --tolerance 60';
    const { terminal, search, latest, log, ended, nothingLeft } = await typeRecipe(t, { more });
    assert.equal(await ended(), 0, `${terminal.output()}\n${log()}`);
    const { answer } = search();
    assert.equal(answer.end, 'found', terminal.output());
    assert.ok(answer.held !== null && answer.held <= SERVER_LIMIT, answer.sentence);
    assert.ok(answer.broke !== null && answer.broke > SERVER_LIMIT, answer.sentence);
    assert.deepEqual(columns(latest()?.generators ?? [], 'host'), {
      host: NAMES.map((name, index) => `${name}/${index}`),
    });
    await nothingLeft();
  });

  it('the ssh recipe ends on all hosts after Ctrl-C, and keeps the measurements', async (t) => {
    const { terminal, latest, log, reached, ended, nothingLeft } = await typeRecipe(t, { hold: 3 });
    await reached('hold');
    assert.equal(terminal.child.exitCode, null, `${terminal.output()}${log()}`);
    terminal.interrupt();
    assert.equal(await ended(), 130, terminal.output());
    assert.ok(latest()?.findings.some(({ code }) => code === 'RUN_INCOMPLETE'));
    assert.equal(latest()?.connections.opened, 18, terminal.output());
    await nothingLeft();
  });
});
