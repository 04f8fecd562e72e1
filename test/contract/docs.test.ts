/** Locks the reference to the code: what exists is on its page, and the page names nothing that does not exist. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { describe, it } from 'node:test';
import { PAGES as CODE_PAGES, withTables } from '../../docs/codes.ts';
import { createProgram } from '../../plugin/cli/program.ts';
import { runMetrics } from '../../plugin/hook/metrics.ts';
import { SERIES as LIVE_SERIES } from '../../plugin/live/series.ts';
import { FURTHER_LAYERS, LAYERS } from '../../plugin/samplers/layers/index.ts';
import { optionsSchema as engineOptions } from '../../plugin/script/options/engine-options.ts';
import {
  environmentSchema as hookEnvironment,
  optionsSchema as hookOptions,
  hostSchema,
  terminalSchema,
} from '../../plugin/script/options/plugin-options.ts';
import { METRICS } from '../../plugin/virtual-user/metrics.ts';
import { STEPS } from '../../plugin/virtual-user/steps/index.ts';
import { EXIT_CODES } from '../../protocol/codes/exit-codes.ts';
import { EVENTS } from '../../protocol/events.ts';
import type { Metric } from '../../protocol/metric.ts';
import { resultSchema } from '../../protocol/result/result.ts';
import { LIMITS } from '../../report/figures/limits.ts';
import { ADAPTERS } from '../../server/adapters/index.ts';
import { environmentSchema as serverEnvironment } from '../../server/config.ts';
import { REQUEST_ARGUMENTS } from '../../server/control/control.ts';
import { SERIES as SERVER_SERIES } from '../../server/control/metrics.ts';
import { optionsSchema as instrumentOptions } from '../../server/instrument.ts';
import { environmentSchema as serverNodeEnvironment } from '../../server/stack/server-node.ts';
import { environmentSchema as stackEnvironment } from '../../server/stack/state/state-dir.ts';
import { entries as tunings } from '../../server/tunings.ts';
import { WEBSOCKETS } from '../../server/websockets/index.ts';
import { codes, firstColumn, page, plain, ROOT, rows, section, sections } from '../helpers/pages.ts';
import { MAY_IMPORT } from '../helpers/rooms.ts';
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

function assertSame(documented: Iterable<string>, existing: Iterable<string>): void {
  assert.deepEqual([...new Set(documented)].sort(), [...new Set(existing)].sort());
}

/** In any order; Markdown and the first letter's case may differ. */
function assertSameRows(documented: string[][], existing: string[][]): void {
  const sorted = (table: string[][]) => table.map((cells) => cells.map(plain)).sort();
  assert.deepEqual(sorted(documented), sorted(existing));
}

function seriesRow({ name, kind, unit, labels, help }: Metric & { labels: string[] }): string[] {
  return [name, kind, unit, labels.join(', ') || '–', help];
}

/** Of the server, except for its tunings. */
const serverVariables = [serverEnvironment, ...Object.values(ADAPTERS).map(({ environment }) => environment)].flatMap(
  ({ shape }) => Object.keys(shape),
);

describe('reference/steps.md', () => {
  const keysOf = (verb: string) => keyPaths((STEPS[verb] as (typeof STEPS)[string]).schema);
  const last = (path: string) => path.slice(path.lastIndexOf('.') + 1);
  const stepTables = sections(pages.steps).filter(({ heading }) => heading !== 'Error codes');

  it('has a section for every verb, in which every key of the step is a row', () => {
    const described = stepTables.filter(({ heading }) => /^(`\w+`(, )?)+$/.test(heading));
    assertSame(
      described.flatMap(({ heading }) => codes(heading)),
      Object.keys(STEPS),
    );
    for (const { heading, text } of described) {
      const rows = firstColumn(text);
      const verb = codes(heading).join(', ');
      const keys = codes(heading).flatMap(keysOf);
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
});

describe('guide/writing-scenarios.md', () => {
  it('has a test for each difference from other engines', () => {
    const table = section(page('docs/guide/writing-scenarios.md'), 'Coming from another engine');
    const tests = page('test/unit/virtual-user/differences.test.ts').matchAll(/^test\('(.*)',/gm);
    assertSame(
      rows(table).map(([name]) => plain(name ?? '')),
      [...tests].map(([, name]) => name as string),
    );
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
    const schemas = [hookEnvironment, hostSchema, terminalSchema, stackEnvironment, serverNodeEnvironment];
    assertSame(
      firstColumn(section(pages.options, 'Environment')),
      schemas.flatMap(({ shape }) => Object.keys(shape)),
    );
  });
});

describe('reference/cli.md', () => {
  // The hidden one is for the scripts of `completion`.
  const visible = (command: Command) =>
    command.commands.filter((one) => command.createHelp().visibleCommands(command).includes(one));
  const leaves = (command: Command, name: string): [string, Command][] =>
    command.commands.length === 0
      ? [[name, command]]
      : visible(command).flatMap((one) => leaves(one, `${name} ${one.name()}`.trim()));
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
  it('gives every metric of the engine', () => {
    assertSameRows(
      rows(section(pages.metrics, 'Engine')),
      Object.values(METRICS).map(({ name, kind, unit, help }) => [name, kind, unit, help]),
    );
  });

  it('gives every metric of the plugin, and where it is in the result', () => {
    assertSameRows(
      rows(section(pages.metrics, 'Plugin')),
      runMetrics().map(({ name, kind, unit, help, path }) => [name, kind, unit, help, path]),
    );
  });

  it('gives every Prometheus series of a run', () => {
    assertSameRows(rows(section(pages.metrics, 'Prometheus')), LIVE_SERIES.map(seriesRow));
  });
});

describe('the tables of codes', () => {
  for (const path of CODE_PAGES) {
    it(`on ${relative(ROOT, path)} are those of this version: node docs/codes.ts`, () => {
      const written = readFileSync(path, 'utf8');
      assert.equal(written, withTables(written));
    });
  }
});

describe('reference/errors.md', () => {
  it('names what a run exits with', () => {
    const exitCodes = rows(section(pages.errors, 'Exit codes')).map(([code]) => Number(code));
    for (const [meaning, code] of Object.entries(EXIT_CODES))
      assert.ok(exitCodes.includes(code), `${meaning}: ${code}`);
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

describe('reference/result.md and the method', () => {
  it('name every layer and every limit', () => {
    const memoryLayers = [...LAYERS, ...Object.values(FURTHER_LAYERS)].flatMap(({ figures }) =>
      figures.map(({ id }) => id),
    );
    assert.ok(memoryLayers.length > 15);
    const method = globSync(['docs/method.md', 'docs/method/*.md'], { cwd: ROOT }).map(page).join('\n');
    for (const text of [pages.result, method]) {
      const missing = [...memoryLayers, ...LIMITS].filter((name) => !text.includes(`\`${name}\``));
      assert.deepEqual(missing, []);
    }
  });
});

describe('CONTRIBUTING.md', () => {
  it('has the import rules that imports.test.ts holds', () => {
    const map = section(page('CONTRIBUTING.md'), 'Map');
    for (const [room, allowed] of Object.entries(MAY_IMPORT)) {
      const row = rows(map).find(([folder]) => folder === `\`${room}/\``);
      assert.ok(row, `${room} is not in the map`);
      assertSame(codes(row[2]), allowed);
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

  it('gives every series of a worker', () => {
    assertSameRows(rows(section(pages.server, 'HTTP')), Object.values(SERVER_SERIES).map(seriesRow));
  });

  it('names every event, request and option of instrument', () => {
    assertSame(firstColumn(section(pages.server, 'Events')), Object.values(EVENTS));
    assertSame(firstColumn(section(pages.server, 'Control')), Object.keys(REQUEST_ARGUMENTS));
    assertSame(firstColumn(section(pages.server, '`instrument(io, options)`')), keyPaths(instrumentOptions));
    const readme = page('server/instrument-package/README.md');
    assertSame(firstColumn(section(readme, 'Options')), keyPaths(instrumentOptions));
  });
});
