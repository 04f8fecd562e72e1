/**
 * Generates the pages of the reference from schemas, catalogues and commands. Text above `MARK` on a page is
 * handwritten: at most an introduction and an example.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import type { z } from 'zod';
import { helpOf } from '../../plugin/cli/command.ts';
import { createProgram } from '../../plugin/cli/program.ts';
import { SERIES as LIVE_SERIES } from '../../plugin/live/prometheus-text.ts';
import { REPORT_FILES } from '../../plugin/result/report-files.ts';
import { runMetrics } from '../../plugin/result/run-metrics.ts';
import { FURTHER_LAYERS, LAYERS } from '../../plugin/samplers/layers/index.ts';
import { scenarioOptionsSchema } from '../../plugin/script/options/connect-options.ts';
import { optionsSchema as engineOptions } from '../../plugin/script/options/engine-options.ts';
import {
  environmentSchema,
  hostSchema,
  optionsSchema as pluginOptions,
  terminalSchema,
} from '../../plugin/script/options/plugin-options.ts';
import { STEPS } from '../../plugin/virtual-user/steps/index.ts';
import { METRICS } from '../../plugin/virtual-user/user-metrics.ts';
import { type Code, ERROR_CODES } from '../../protocol/codes/error-codes.ts';
import { RUN_EXIT_CODES } from '../../protocol/codes/exit-codes.ts';
import { FAILURE_CODES } from '../../protocol/codes/failure-codes.ts';
import { FINDINGS, type FindingDefinition } from '../../protocol/codes/finding-codes.ts';
import { resultSchema } from '../../protocol/result/result.ts';
import { EVENT_HELP, EVENTS } from '../../protocol/wire/events.ts';
import { ADAPTERS } from '../../server/adapters/index.ts';
import { environmentSchema as serverEnvironment } from '../../server/config.ts';
import { SERIES as SERVER_SERIES } from '../../server/control/metrics.ts';
import { optionsSchema as instrumentOptions } from '../../server/instrument.ts';
import { environmentSchema as nodeEnvironment } from '../../server/stack/server-node.ts';
import { environmentSchema as stackEnvironment } from '../../server/stack/state/state-dir.ts';
import { entries as tunings } from '../../server/tunings.ts';
import { defaultOf, describedKeys, type Key, keysOf, type Node, nodeOf, shallow, valuesOf } from './schema.ts';
import { catalogue, code, escaped, OPTION, optionRows, section, seriesTable, table } from './tables.ts';

export const MARK = '<!-- npm run docs:reference writes what follows -->';

/** Pages with the functions that generate their sections. */
export const PAGES: Record<string, () => string[]> = { steps, options, metrics, errors, cli, result, server };

function steps(): string[] {
  const seen = new Set<string>();
  const nodes = Object.entries(STEPS).map(([verb, { schema }]) => ({ verb, node: nodeOf(schema) }));
  const alike = Map.groupBy(nodes, ({ verb, node }) => JSON.stringify(node).replaceAll(`"${verb}"`, '"verb"'));
  const parts = [...alike.values()].map((group) => {
    const [[, values = '', , meaning = ''] = [], ...keys] = optionRows(group[0]?.node ?? {}, seen);
    const lead = `${values === '`true`' ? `${values}: ` : ''}${meaning}.`;
    return section(group.map(({ verb }) => code(verb)).join(', '), lead, table(OPTION, keys));
  });
  const shapes = new Map(nodes.flatMap(({ node }) => Object.entries(node.$defs ?? {})));
  const conditions = [...shapes].map(([id, node]) =>
    section(id, `${node.description}.`, table(OPTION, optionRows(node, seen))),
  );
  return [...parts, ...conditions];
}

function options(): string[] {
  const seen = new Set<string>();
  const tableOf = (...schemas: z.ZodType[]) =>
    table(
      OPTION,
      schemas.flatMap((schema) => optionRows(nodeOf(schema), seen)),
    );
  const scenario = Object.keys(scenarioOptionsSchema.shape).map(code).join(', ');
  const environment = [environmentSchema, nodeEnvironment, stackEnvironment, hostSchema.partial(), terminalSchema];
  return [
    section('Engine', '`config.engines.socketio-capacity`:', tableOf(engineOptions)),
    section('Scenario', `A scenario's \`socketio\` has ${scenario} for its virtual users, also with templates.`),
    section('Plugin', '`config.plugins.socketio-capacity`:', tableOf(pluginOptions)),
    section('Environment', tableOf(...environment)),
  ];
}

function metrics(): string[] {
  const engine = Object.values(METRICS).map(({ name, kind, unit, help }) => [code(name), kind, unit, help]);
  const run = runMetrics().map(({ name, kind, unit, path }) => [code(name), kind, unit, code(path)]);
  return [
    section('Engine', table(['metric', 'kind', 'unit', 'meaning'], engine)),
    section(
      'Plugin',
      'At the end of the run, for `ensure`. A summary has `count`, `min`, `mean`, `median`, `p50`, `p90`, `p95`, `p99`, `p999` and `max`.',
      table(['metric', 'kind', 'unit', 'key of the [result](./result.md)'], run),
    ),
    section(
      'Prometheus',
      'At `/metrics` of the live page (option `live`), all with `run` and `scenario`.',
      seriesTable(LIVE_SERIES),
    ),
  ];
}

function errors(): string[] {
  const rowsOf = (all: Record<string, Code>) => {
    const alike = Map.groupBy(Object.entries(all), ([, { meaning, remedy }]) => `${meaning}|${remedy}`);
    return [...alike.values()].map((group) => {
      const { meaning = '', remedy = '' } = group[0]?.[1] ?? {};
      return [group.map(([name]) => code(name)).join(', '), meaning, remedy];
    });
  };
  const effectOf = ({ invalidates, fails }: FindingDefinition) =>
    [fails && 'failed', invalidates.includes('run') ? 'INVALID' : invalidates.join(', ')].filter(Boolean).join('; ');
  const findings = Object.entries(FINDINGS).map(([name, definition]) => [
    ...[code(name), effectOf(definition), definition.meaning, definition.remedy],
  ]);
  return [
    section(
      'Exit codes',
      '`artillery run` ends with one of these; each command of `npx socketio-capacity` has [its own](./cli.md).',
      table(['exit code', 'meaning'], Object.entries(RUN_EXIT_CODES)),
    ),
    section(
      'Findings',
      'The effect `failed`: the deployment misses an expectation. Figures: they must not be used, and the run is SUSPECT. None: for information. The message of a finding has its numbers and a more specific fix.',
      table(['code', 'effect', 'meaning', 'what to do'], findings),
    ),
    section(
      'Errors',
      'Commands and runs stop with these, before any load. The message says what to do.',
      table(
        ['code', 'meaning'],
        rowsOf(ERROR_CODES).map((row) => row.slice(0, 2)),
      ),
    ),
    section(
      'Failures of virtual users',
      'The metrics `errors.<code>`, and keys of `connections.failures`.',
      table(['code', 'meaning', 'what to do'], rowsOf(FAILURE_CODES)),
    ),
  ];
}

/** Exit codes that have the same meaning for every command. The introduction explains them. */
const COMMON_EXIT_CODES = ['2', '11', '130'];

function cli(): string[] {
  return commandsOf(createProgram(), '').map(([name, command]) => {
    const given = command.options.filter(({ long }) => long !== '--json');
    const rows = [
      ...command.registeredArguments.map((argument) => [
        code(argument.required ? `<${argument.name()}>` : `[${argument.name()}${argument.variadic ? '...' : ''}]`),
        String(argument.defaultValue ?? ''),
        argument.argChoices ? argument.argChoices.map(code).join(', ') : argument.description,
      ]),
      ...given.map(({ flags, defaultValue, description }) => [
        ...[code(flags), defaultValue === undefined ? '' : code(String(defaultValue)), description],
      ]),
    ];
    const exitCodes = Object.entries(helpOf(command).exitCodes)
      .filter(([exitCode]) => !COMMON_EXIT_CODES.includes(exitCode))
      .map((entry) => entry.join(' '));
    return section(
      code(name),
      escaped(command.description()),
      table(['argument or option', 'default', 'meaning'], rows),
      ...(exitCodes.length > 1 ? [`Exit codes: ${exitCodes.join('; ')}.`] : []),
    );
  });
}

function commandsOf(command: Command, name: string): [string, Command][] {
  const visible = command
    .createHelp()
    .visibleCommands(command)
    .filter((subcommand) => subcommand.name() !== 'help');
  if (visible.length === 0) return [[name, command]];
  return visible.flatMap((subcommand) => commandsOf(subcommand, `${name} ${subcommand.name()}`.trim()));
}

/** Maximum number of values in an enumeration. A longer enumeration is only in the JSON Schema. */
const MAX_VALUES = 6;

function result(): string[] {
  const seen = new Set<string>();
  const node = nodeOf(resultSchema);
  const keyTable = (keys: ReturnType<typeof keysOf>, known: Set<string>) =>
    table(
      ['key', 'meaning'],
      describedKeys(keys.map(shallow), known).map((row) => [row.paths, `${row.text}${shapeOf(row.node)}`]),
    );
  // Lists the keys of a list's entries by name. The JSON Schema describes them.
  const keysIn = ({ path, children }: Key) => {
    const names = children.map((child) => code(child.path.slice(`${path}[].`.length)));
    return children[0]?.path.startsWith(`${path}[]`) ? `Each has ${names.join(', ')}.` : keyTable(children, seen);
  };
  const sections = keysOf(node).flatMap((key) =>
    key.children.length === 0 ? [] : [section(code(key.path), key.node.description ?? '', keysIn(key))],
  );
  const shapes = Object.entries(node.$defs ?? {}).map(([id, shape]) =>
    section(id, `${shape.description}.`, keyTable(keysOf(shape), new Set())),
  );
  const layers = [...LAYERS, ...Object.values(FURTHER_LAYERS)].map(({ title, figures }) => [
    ...[title, figures.map(({ id }) => code(id)).join(', ')],
  ]);
  return [
    ...sections,
    ...shapes,
    section(
      'Layers',
      'Keys of the memory figures. A run has the keys of its own deployment’s parts.',
      table(['part', 'layers'], layers),
    ),
    section(
      'Files of a run',
      'In `results/<run id>/`, beside `result.json` and `artillery.log` (what Artillery prints: phases, metrics, `ensure`).',
      table(
        ['file', 'content'],
        REPORT_FILES.map(([name, , help]) => [code(name), help]),
      ),
    ),
  ];
}

/** Returns the values of a short enumeration, or a link to the section of the shape. */
function shapeOf(node: Node): string {
  const { $ref, enum: values = [] } = node.anyOf?.find(({ $ref, enum: values }) => $ref ?? values) ?? node;
  return $ref || (values.length > 0 && values.length <= MAX_VALUES) ? ` (${valuesOf({ $ref, enum: values })})` : '';
}

function server(): string[] {
  const seen = new Set<string>();
  const adapters = Object.values(ADAPTERS).map(({ environment }) => environment);
  const variables = [serverEnvironment, ...new Set(adapters)].flatMap((schema) => optionRows(nodeOf(schema), seen));
  const switches = tunings().map(([, { variable, byDefault, help }]) => [
    ...[code(variable), byDefault ? '`on`' : '`off`', help],
  ]);
  const eventHelp = Object.fromEntries(
    Object.entries(EVENTS).map(([key, name]) => [name, EVENT_HELP[key as keyof typeof EVENTS]]),
  );
  const adapterHelp = Object.fromEntries(Object.entries(ADAPTERS).map(([name, { help }]) => [name, help]));
  return [
    section('`instrument(io, options)`', table(['option', 'default', 'meaning'], instrumentRows())),
    section('Events', 'In the main namespace.', table(['event', 'content'], catalogue(eventHelp))),
    section(
      'Series',
      'At `/metrics` of the control port; all have the label `worker`.',
      seriesTable(Object.values(SERVER_SERIES)),
    ),
    section(
      'Environment',
      'Variables of the bundled server. The stack sets names, ports, token and Redis; the workers inherit the rest.',
      table(OPTION, variables),
    ),
    section(
      'Tunings',
      'Further variables of the bundled server, each `on` or `off`.',
      table(['variable', 'default', 'meaning'], switches),
    ),
    section(
      'Adapters',
      '`CAPACITY_ADAPTER` chooses how a broadcast travels.',
      table(['adapter', 'package and path of a broadcast'], catalogue(adapterHelp)),
    ),
  ];
}

/** Returns the rows of the options of `instrument()`. Their texts are the doc comments of the interface. */
function instrumentRows(): string[][] {
  const source = readFileSync(join(import.meta.dirname, '../../server/instrument.ts'), 'utf8');
  const [, options = ''] = /export interface InstrumentOptions \{\n([\s\S]*?)\n\}/.exec(source) ?? [];
  const comments = [...options.matchAll(/\/\*\*([\s\S]*?)\*\/\s*(\w+)\??:/g)];
  const { properties = {} } = nodeOf(instrumentOptions);
  return comments.map(([, comment = '', name = '']) => [
    // The default name is omitted, because it contains the host name of this machine.
    ...[code(name), name === 'worker' ? '' : defaultOf(properties[name] ?? {})],
    comment.replace(/\s*\n\s*\*?\s*/g, ' ').trim(),
  ]);
}
