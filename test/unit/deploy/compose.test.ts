import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import { configurations } from '../../../deploy/nginx-conf.ts';
import type { Phase } from '../../../plugin/script/load/phases.ts';
import { phasesOfHost } from '../../../plugin/script/load/shares.ts';
import { parseServerConfig } from '../../../server/config.ts';
import { TOKEN } from '../../helpers/app.ts';
import {
  COMPOSE_FILES,
  composeServices,
  DEPLOY,
  guideCompose,
  readDeployed,
  servicesIn,
} from '../../helpers/deploy.ts';
import { page } from '../../helpers/pages.ts';

const { version } = JSON.parse(page('package.json'));

for (const file of COMPOSE_FILES) {
  for (const [name, service] of Object.entries(composeServices(file))) {
    it(`the service ${name} of ${file} runs without privileges, in a read-only container`, () => {
      const unprivileged = { read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] };
      assert.partialDeepStrictEqual(service, unprivileged);
      assert.ok(service.tmpfs?.some((mount) => mount.startsWith('/tmp')));
      for (const [path = ''] of (service.volumes ?? []).map((volume) => volume.split(':')))
        if (path.startsWith('.')) assert.ok(existsSync(join(DEPLOY, path)), path);
      // Only this project's image sets its own user; other images need a user in the file.
      if (!service.build) return assert.match(service.user ?? '', /^[1-9]\d*:[1-9]\d*$/);
      assert.ok(existsSync(join(DEPLOY, service.build.context, service.build.dockerfile)));
      assert.equal(service.image, `socketio-capacity:${version}`);
    });
  }
}

it('every Compose file requires the environment variable of the token', () => {
  for (const file of COMPOSE_FILES) assert.match(readDeployed(file), /\$\{CAPACITY_TOKEN:\?/, file);
});

describe('the workers of compose.deployment.yml', () => {
  const services = composeServices('compose.deployment.yml');
  const workers = Object.entries(services).filter(([, { environment }]) => environment?.CAPACITY_WORKER);

  it('the Compose workers have an environment that the server accepts, and the name that nginx uses', () => {
    const proxy = readDeployed('nginx.compose.conf');
    for (const [name, { environment }] of workers) {
      const config = parseServerConfig({ ...environment, CAPACITY_TOKEN: TOKEN });
      assert.equal(config.worker, name);
      assert.equal(config.adapter.name, 'redis');
      assert.match(proxy, new RegExp(`upstream ${name} {.* server ${name}:${config.port} `));
      assert.match(proxy, new RegExp(`~\\^${name}- ${name};`));
    }
    assert.equal(proxy.match(/~\^w\d+- /g)?.length, workers.length);
  });

  it('the Compose workers may open at least as many files as nginx may open connections to them', () => {
    const perProxyWorker = Number(/worker_connections (\d+);/.exec(readDeployed('nginx.compose.conf'))?.[1]);
    for (const name of [...workers.map(([name]) => name), 'nginx']) {
      assert.ok((services[name]?.ulimits?.nofile.hard ?? 0) > perProxyWorker, name);
    }
  });
});

describe('the guide to several hosts', () => {
  const guide = page('docs/guide/several-hosts.md');
  const phasesOf = (scenario = ''): Phase[] => parse(page(scenario)).config.phases;

  it('the guide to several hosts divides each scenario among numbered hosts', () => {
    const commands = [...guide.matchAll(/socketio-capacity conduct --hosts (\d+).* (scenarios\/\S+?\.yml)/g)];
    assert.equal(commands.length, 2);
    for (const [command, hosts, scenario] of commands) {
      assert.doesNotThrow(() => phasesOfHost(phasesOf(scenario), { hosts: Number(hosts), index: 0 }), command);
    }
  });

  it('the Compose file for several hosts starts as many hosts as the conductor waits for', () => {
    const { conductor, host } = servicesIn(guideCompose());
    const hosts = Number(/--hosts (\d+)/.exec(String(conductor?.command))?.[1]);
    assert.equal(host?.deploy?.replicas, hosts);
    for (const variable of ['TARGET', 'CAPACITY_CONTROL', 'CAPACITY_TOKEN'])
      assert.ok(variable in (conductor?.environment ?? {}));
  });
});

for (const [file, text] of Object.entries(configurations())) {
  it(`${file} is up to date with nginx.conf.template; otherwise: node deploy/nginx-conf.ts`, () => {
    assert.equal(readDeployed(file), text);
  });
}
