/** Locks the reference to the code: what exists is on its page, and the page names nothing that does not exist. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { optionsSchema as engineOptions } from '../../plugin/engine/config.ts';
import { METRICS } from '../../plugin/engine/metrics.ts';
import { STEPS } from '../../plugin/engine/steps/index.ts';
import { createProgram } from '../../plugin/hook/cli/program.ts';
import { environmentSchema as hookEnvironment, optionsSchema as hookOptions } from '../../plugin/hook/config.ts';
import { EXIT_CODES } from '../../plugin/hook/exit-codes.ts';
import { resultSchema } from '../../protocol/result.ts';
import { ADAPTERS } from '../../server/adapters/index.ts';
import { environmentSchema as serverEnvironment } from '../../server/config.ts';
import { optionsSchema as instrumentOptions } from '../../server/instrument.ts';
import { entries as tunings } from '../../server/tunings.ts';
import { WEBSOCKETS } from '../../server/websockets/index.ts';
import { firstColumn, page, ROOT, section, sections } from '../helpers/pages.ts';
import { keyPaths } from '../helpers/zod-keys.ts';

type Command = ReturnType<typeof createProgram>;

const pages = {
  cli: page('docs/reference/cli.md'),
  steps: page('docs/reference/steps.md'),
  options: page('docs/reference/options.md'),
  metrics: page('docs/reference/metrics.md'),
  errors: page('docs/reference/errors.md'),
  result: page('docs/reference/result.md'),
  server: page('docs/reference/server.md'),
};

const sources = new Map(
  globSync(['plugin/**/*.ts', 'server/**/*.ts', 'protocol/**/*.ts', 'report/**/*.ts'], {
    cwd: ROOT,
    exclude: (name) => name.includes('node_modules') || name.endsWith('/dist'),
  }).map((path) => [path, readFileSync(join(ROOT, path), 'utf8')]),
);

/** @returns all first groups of the pattern in the sources below a folder */
function inSources(pattern: RegExp, folder = ''): string[] {
  const texts = [...sources].filter(([path]) => path.startsWith(folder)).map(([, text]) => text);
  return texts.flatMap((text) => [...text.matchAll(pattern)].map((match) => match[1] as string));
}

function assertSame(documented: Iterable<string>, existing: Iterable<string>): void {
  assert.deepEqual([...new Set(documented)].sort(), [...new Set(existing)].sort());
}

/** Of the server, except for its tunings. */
const serverVariables = [serverEnvironment, ...Object.values(ADAPTERS).map(({ environment }) => environment)].flatMap(
  ({ shape }) => Object.keys(shape),
);

const isEnvironmentName = (name: string) => /^[A-Z][A-Z0-9_]+$/.test(name);

describe('reference/steps.md', () => {
  const keysOf = (verb: string) => keyPaths((STEPS[verb] as (typeof STEPS)[string]).schema);
  const last = (path: string) => path.slice(path.lastIndexOf('.') + 1);
  const stepTables = sections(pages.steps).filter(({ heading }) => heading !== 'Error codes');

  it('has a section for every verb, in which every key of the step is a row', () => {
    const verbs = stepTables.flatMap(({ heading }) => /^`(.*)`$/.exec(heading)?.[1] ?? []);
    assertSame(verbs, Object.keys(STEPS));
    for (const verb of verbs) {
      const rows = firstColumn(section(pages.steps, `\`${verb}\``));
      const keys = keysOf(verb);
      const missing = keys.filter((key) => !key.includes('.') && !rows.includes(key));
      assert.deepEqual(missing, [], `missing in the section of ${verb}`);
      const unknown = rows.filter((row) => !keys.map(last).includes(row));
      assert.deepEqual(unknown, [], `unknown to ${verb}`);
    }
  });

  it('names every key inside a step, too', () => {
    assertSame(
      stepTables.flatMap(({ text }) => firstColumn(text)),
      Object.keys(STEPS).flatMap((verb) => keysOf(verb).map(last)),
    );
  });

  it('names every error code of a flow', () => {
    const codes = [
      ...inSources(/new (?:FlowError|FleetError|ProtocolError)\(\s*[`']([a-z_]+)/g, 'plugin/'),
      ...inSources(/\bfail\([`']([a-z_]+)/g, 'plugin/fleet'),
      ...inSources(/cause: [`']([a-z_]+)/g, 'plugin/fleet'),
      ...inSources(/(?:timeoutCode|timeoutCause)[^\n]*?'([a-z]+_[a-z]+)'/g, 'plugin/'),
    ].filter((code) => code !== 'fleet_start');
    const rows = firstColumn(section(pages.steps, 'Error codes'));
    const missing = [...new Set(codes)].filter((code) => !rows.some((row) => row.startsWith(code)));
    assert.deepEqual(missing, []);
  });
});

describe('reference/options.md', () => {
  it('names every option of the engine', () => {
    assertSame(firstColumn(section(pages.options, 'Engine')), keyPaths(engineOptions));
  });

  it('names every option of the plugin', () => {
    assertSame(firstColumn(section(pages.options, 'Plugin')), keyPaths(hookOptions));
  });

  it('names every environment variable of a run', () => {
    // Artillery's own, which say where a process stands.
    const artillerys = ['LOCAL_WORKER_ID', 'WORKER_ID', 'IS_LEADER'];
    const read = inSources(/\benv\.([A-Z][A-Z0-9_]+)/g, 'plugin/');
    const stack = inSources(/process\.env\.([A-Z][A-Z0-9_]+)/g, 'server/stack').filter((name) => name !== 'PATH');
    const existing = [...Object.keys(hookEnvironment.shape), ...read, ...stack];
    assertSame(
      firstColumn(section(pages.options, 'Environment')),
      existing.filter((name) => ![...artillerys, ...serverVariables].includes(name) || name in hookEnvironment.shape),
    );
  });
});

describe('reference/cli.md', () => {
  const leaves = (command: Command, name: string): [string, Command][] =>
    command.commands.length === 0
      ? [[name, command]]
      : command.commands.flatMap((one) => leaves(one, `${name} ${one.name()}`.trim()));
  const commands = leaves(createProgram(), '');

  it('has a section for every command', () => {
    assertSame(
      sections(pages.cli).flatMap(({ heading }) => /^`(.*)`$/.exec(heading)?.[1] ?? []),
      commands.map(([name]) => name),
    );
  });

  for (const [name, command] of commands) {
    it(`names the arguments, options and exit codes of ${name}`, () => {
      const text = section(pages.cli, `\`${name}\``);
      const usage = command.usage().split(' ').slice(1);
      assertSame(firstColumn(text), [...command.options.map(({ long }) => long as string), ...usage]);
      let help = '';
      command.configureOutput({ writeOut: (written) => (help += written) }).outputHelp();
      const codes = [...help.slice(help.indexOf('Exit codes:')).matchAll(/^ +(\d+) {2}/gm)];
      assert.ok(codes.length > 0);
      assertSame(
        [...text.matchAll(/^\| (\d+) +\|/gm)].map((match) => match[1] as string),
        codes.map((match) => match[1] as string),
      );
    });
  }
});

describe('reference/metrics.md', () => {
  it('names every metric of the engine', () => {
    assertSame(
      firstColumn(section(pages.metrics, 'Engine')),
      Object.values(METRICS).map(({ name }) => name),
    );
  });

  it('names every metric of the plugin', () => {
    const names = inSources(/^ {2,4}'([a-z_]+(?:\.[a-z_]+)+)':/gm, 'plugin/hook/metrics.ts');
    assert.ok(names.length > 10);
    assertSame(firstColumn(section(pages.metrics, 'Plugin')), names);
  });
});

describe('reference/errors.md', () => {
  const environmentNames = new Set([
    ...Object.keys(hookEnvironment.shape),
    ...serverVariables,
    ...tunings().map(([, { variable }]) => variable),
  ]);
  /** Of Node, of the system, and of the ecosystem file. */
  const others = /^(ERR_|EAI_|SIG|STACK_(WORKERS|PORTS|CONTROL_PORTS|TOKEN|REDIS_URL|LOG_DIR)$|PM2_HOME)/;
  const codes = [
    ...inSources(/'([A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+)'/g).filter(
      (code) => !environmentNames.has(code) && !others.test(code),
    ),
    ...inSources(/new CapacityError\(\s*'([A-Z_0-9]+)'/g),
    ...inSources(/code: '((?!ERR_)[A-Z_0-9]+)'/g),
  ];

  it('names every code', () => {
    const rows = sections(pages.errors).flatMap(({ text }) => firstColumn(text));
    assertSame(rows.filter(isEnvironmentName), codes);
  });

  it('names what a run exits with', () => {
    const rows = [...section(pages.errors, 'Exit codes').matchAll(/^\| (\d+) +\|/gm)].map((match) => Number(match[1]));
    for (const [meaning, code] of Object.entries(EXIT_CODES)) assert.ok(rows.includes(code), `${meaning}: ${code}`);
  });

  it('says of every reason for a verdict whether it invalidates', () => {
    const invalidating = /INVALIDATING = new Set\(\[([\s\S]*?)\]\)/.exec(sources.get('plugin/hook/verdict.ts') ?? '');
    const expected = [...(invalidating?.[1] ?? '').matchAll(/'([A-Z_]+)'/g)].map((match) => match[1] as string);
    assert.ok(expected.length > 0);
    const rows = [...section(pages.errors, 'Verdict').matchAll(/^\| `([A-Z_]+)` +\| (INVALID|SUSPECT) /gm)];
    assertSame(
      rows.filter(([, , verdict]) => verdict === 'INVALID').map(([, code]) => code as string),
      expected,
    );
  });
});

describe('reference/result.md', () => {
  it('names every key of the document', () => {
    const summary = /\.(count|min|mean|p50|p90|p95|p99|p999|max)$/;
    const paths = keyPaths(resultSchema);
    // A summary is one row; a part has a section and no row of its own.
    const existing = paths.filter((path) => !(summary.test(path) && paths.includes(path.replace(summary, '.p999'))));
    const parts = new Set(existing.filter((path) => existing.some((other) => other.startsWith(`${path}.`))));
    const rows = sections(pages.result).flatMap(({ text }) => firstColumn(text));
    const missing = existing.filter((path) => !parts.has(path) && !rows.includes(path));
    assert.deepEqual(missing, []);
    assert.deepEqual(
      rows.filter((row) => !existing.includes(row)),
      [],
    );
  });
});

describe('reference/result.md and method.md', () => {
  it('name every layer and every wall', () => {
    const layers = inSources(/^ {2}(\w+(?:Rss|Pss|Memory|Buffers|Used|External|Tcp|Slab)): '/gm, 'report/layers.ts');
    assert.ok(layers.length > 15);
    const walls = inSources(/name: '(\w+)', max/g, 'report/capacity.ts');
    assert.ok(walls.length > 1);
    const method = page('docs/method.md');
    for (const name of [...layers, ...walls]) {
      assert.ok(pages.result.includes(`\`${name}\``), `${name} is not in result.md`);
      assert.ok(method.includes(`\`${name}\``) || name === 'memoryBudget', `${name} is not in method.md`);
    }
  });
});

describe('CONTRIBUTING.md', () => {
  it('has the import rules that imports.test.ts holds', () => {
    const rules = [...page('test/contract/imports.test.ts').matchAll(/^ {2}'?([\w/]+)'?: \[(.*)\],$/gm)];
    assert.ok(rules.length > 5);
    const rows = new Map(
      [...section(page('CONTRIBUTING.md'), 'Map').matchAll(/^\| `([\w/]+)\/` +\|[^|]*\|([^|]*)\|$/gm)].map((row) => [
        row[1],
        row[2],
      ]),
    );
    for (const [, folder, allowed = ''] of rules) {
      const documented = [...(rows.get(folder) ?? '').matchAll(/`([^`]+)`/g)].map((match) => match[1] as string);
      assertSame(
        documented,
        [...allowed.matchAll(/'([^']+)'/g)].map((match) => match[1] as string),
      );
    }
  });
});

describe('reference/server.md', () => {
  it('names every environment variable', () => {
    assertSame(firstColumn(section(pages.server, 'Environment')), serverVariables);
    assertSame(
      firstColumn(section(pages.server, 'Tunings')),
      tunings().map(([, { variable }]) => variable),
    );
  });

  it('names every adapter and WebSocket server', () => {
    assertSame(firstColumn(section(pages.server, 'Adapters')), Object.keys(ADAPTERS));
    assertSame(firstColumn(section(pages.server, 'WebSocket servers')), Object.keys(WEBSOCKETS));
  });

  it('names every request, event, series and option of instrument', () => {
    const series = inSources(/'(capacity_[a-z_]+)'/g, 'server/metrics.ts');
    assertSame(firstColumn(section(pages.server, 'HTTP')), series);
    const contract = sources.get('protocol/events.ts') ?? '';
    const requests = /interface ControlToServerEvents \{([\s\S]*?)^\}/m.exec(contract)?.[1] ?? '';
    assertSame(
      [...section(pages.server, 'Control').matchAll(/^\| `(\w+)` +\|/gm)].map((match) => match[1] as string),
      [...requests.matchAll(/^ {2}(\w+):/gm)].map((match) => match[1] as string),
    );
    assertSame(firstColumn(section(pages.server, '`instrument(io, options)`')), keyPaths(instrumentOptions));
  });
});
