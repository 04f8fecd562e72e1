/**
 * Generates the pages of the reference from schemas, catalogues and commands. Text above `MARK` on a page is
 * handwritten: at most an introduction and an example.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import type { z } from 'zod';
import { createProgram } from '../../plugin/cli/program.ts';
import { LIVE_METRICS as LIVE_SERIES } from '../../plugin/live/prometheus-text.ts';
import { REPORT_FILES } from '../../plugin/result/report-files.ts';
import { runMetrics } from '../../plugin/result/run-metrics.ts';
import { scenarioOptionsSchema } from '../../plugin/script/options/connect-options.ts';
import { engineOptionsSchema as engineOptions } from '../../plugin/script/options/engine-options.ts';
import {
  hostEnvironmentSchema,
  pluginOptionsSchema as pluginOptions,
  runEnvironmentSchema,
  terminalEnvironmentSchema,
} from '../../plugin/script/options/plugin-options.ts';
import { STEP_KINDS } from '../../plugin/virtual-user/steps/index.ts';
import { USER_METRICS } from '../../plugin/virtual-user/user-metrics.ts';
import { type CodeDefinition, ERROR_CODES } from '../../protocol/codes/error-codes.ts';
import { RUN_EXIT_CODES } from '../../protocol/codes/exit-codes.ts';
import { FAILURE_CODES } from '../../protocol/codes/failure-codes.ts';
import { FINDINGS, type FindingDefinition } from '../../protocol/codes/finding-codes.ts';
import { resultSchema } from '../../protocol/result/result.ts';
import { CONTRACT_EVENT_HELP, CONTRACT_EVENTS } from '../../protocol/wire/events.ts';
import { ADAPTERS } from '../../server/adapters/index.ts';
import { workerEnvironmentSchema as serverEnvironment } from '../../server/config.ts';
import { WORKER_METRICS as SERVER_SERIES } from '../../server/control/metrics.ts';
import { optionsSchema as instrumentOptions } from '../../server/instrument.ts';
import { serverNodeEnvironmentSchema as nodeEnvironment } from '../../server/stack/server-node.ts';
import { stateDirEnvironmentSchema as stackEnvironment } from '../../server/stack/state/state-dir.ts';
import { tuningEntries as tunings } from '../../server/tunings.ts';
import {
  defaultOf,
  describedKeys,
  type Key,
  keysOf,
  type Node,
  nodeOf,
  shallow,
  signatureOf,
  valuesOf,
} from './schema.ts';
import { catalogue, code, escaped, OPTION, optionRows, section, seriesTable, table } from './tables.ts';

export const MARK = '<!-- npm run docs:reference writes what follows -->';

/** Pages with the functions that generate their sections. */
export const PAGES: Record<string, () => string[]> = { steps, options, metrics, errors, cli, result, server };

function steps(): string[] {
  const ofOptions = keysOf(nodeOf(scenarioOptionsSchema)).map(signatureOf);
  const seen = new Map(ofOptions.map((signature) => [signature, 'as the [option](./options.md#engine)']));
  const nodes = Object.entries(STEP_KINDS).map(([verb, { schema }]) => ({ verb, node: nodeOf(schema) }));
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
  const seen = new Map<string, string>();
  const tableOf = (...schemas: z.ZodType[]) =>
    table(
      OPTION,
      schemas.flatMap((schema) => optionRows(nodeOf(schema), seen)),
    );
  const scenario = Object.keys(scenarioOptionsSchema.shape).map(code).join(', ');
  const environment = [
    runEnvironmentSchema,
    nodeEnvironment,
    stackEnvironment,
    hostEnvironmentSchema.partial(),
    terminalEnvironmentSchema,
  ];
  return [
    section('Engine', '`config.engines.socketio-capacity`:', tableOf(engineOptions)),
    section('Scenario', `A scenario's \`socketio\` has ${scenario} for its virtual users, also with templates.`),
    section('Plugin', '`config.plugins.socketio-capacity`:', tableOf(pluginOptions)),
    section('Environment', tableOf(...environment)),
  ];
}

function metrics(): string[] {
  const engine = Object.values(USER_METRICS).map(({ name, kind, unit, help }) => [code(name), kind, unit, help]);
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
  // The console prints the fix with the figures of the run.
  const rowsOf = (all: Record<string, Pick<CodeDefinition, 'meaning'>>) =>
    [...Map.groupBy(Object.entries(all), ([, { meaning }]) => meaning)].map(([meaning, group]) => [
      ...[group.map(([name]) => code(name)).join(', '), meaning],
    ]);
  const effectOf = ({ invalidates, fails }: FindingDefinition) =>
    [fails && 'failed', invalidates.includes('run') ? 'INVALID' : invalidates.join(', ')].filter(Boolean).join('; ');
  const findings = Object.entries(FINDINGS).map(([name, definition]) => [
    ...[code(name), effectOf(definition), definition.meaning],
  ]);
  return [
    section(
      'Exit codes',
      'Of `artillery run`; the [commands](./cli.md) of `npx socketio-capacity` have their own.',
      table(['exit code', 'meaning'], Object.entries(RUN_EXIT_CODES)),
    ),
    section(
      'Findings',
      'The effect `failed`: the deployment misses an expectation. Figures: do not use them; the run is SUSPECT. None: for information.',
      table(['code', 'effect', 'meaning'], findings),
    ),
    section(
      'Errors',
      'Commands and runs stop with these, before any load.',
      table(['code', 'meaning'], rowsOf(ERROR_CODES)),
    ),
    section(
      'Failures of virtual users',
      'The metrics `errors.<code>`, and keys of `connections.failures`.',
      table(['code', 'meaning'], rowsOf(FAILURE_CODES)),
    ),
  ];
}

function cli(): string[] {
  const seen = new Set<string>();
  return commandsOf(createProgram(), '').map(([name, command]) => {
    const given = [
      ...command.registeredArguments.map((argument) => {
        const flags = argument.required
          ? `<${argument.name()}>`
          : `[${argument.name()}${argument.variadic ? '...' : ''}]`;
        return { flags, long: flags, defaultValue: argument.defaultValue, description: argument.description };
      }),
      ...command.options.filter(({ long }) => long !== '--json'),
    ];
    const known = given.filter(({ flags, description }) => seen.has(`${flags} ${description}`));
    for (const { flags, description } of given) seen.add(`${flags} ${description}`);
    const rows = [
      ...given
        .filter((option) => !known.includes(option))
        .map(({ flags, defaultValue, description }) => [
          ...[code(flags), defaultValue === undefined ? '' : code(String(defaultValue)), description],
        ]),
      ...(known.length > 0 ? [[known.map(({ long }) => code(long ?? '')).join(', '), '', 'as above']] : []),
    ];
    return section(
      code(name),
      escaped(command.description()),
      table(['argument or option', 'default', 'meaning'], rows),
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

/** Sections of the result whose keys the page only names. The JSON Schema describes them. */
const NAMED_ONLY = [
  'run',
  'answer',
  'absent',
  'otherUsers',
  'functions',
  'cpu',
  'processes',
  'redis',
  'machine',
  'sampling',
  'capacity',
  'environment',
];

function result(): string[] {
  const seen = new Map<string, string>();
  const node = nodeOf(resultSchema);
  const keyTable = (keys: Key[], known: Map<string, string>) =>
    table(
      ['key', 'meaning'],
      describedKeys(keys.map(shallow), known).map(({ paths, text, node }) => [paths, `${text}${shapeOf(node)}`]),
    );
  // The JSON Schema describes the keys of a list's entries.
  const isList = ({ path, children }: Key) => children[0]?.path.startsWith(`${path}[]`);
  const keysIn = (key: Key) => {
    if (isList(key)) return '';
    if (!NAMED_ONLY.includes(key.path)) return keyTable(key.children, seen);
    return `${key.children.map(({ path }) => code(path.slice(key.path.length + 1))).join(', ')}.`;
  };
  const sections = keysOf(node).flatMap((key) =>
    key.children.length === 0 ? [] : [section(code(key.path), key.node.description ?? '', keysIn(key))],
  );
  const shapes = Object.entries(node.$defs ?? {}).map(([id, shape]) =>
    section(
      id,
      `${shape.description}: ${keysOf(shape)
        .map(({ path }) => code(path))
        .join(', ')}.`,
    ),
  );
  return [
    ...sections,
    ...shapes,
    section(
      'Files of a run',
      'Beside `result.json` and `artillery.log`, what Artillery prints.',
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
  const seen = new Map<string, string>();
  const adapters = Object.values(ADAPTERS).map(({ environment }) => environment);
  const variables = [serverEnvironment, ...new Set(adapters)].flatMap((schema) => optionRows(nodeOf(schema), seen));
  const switches = tunings().map(([, { variable, byDefault, help }]) => [
    ...[code(variable), byDefault ? '`on`' : '`off`', help],
  ]);
  const eventHelp = Object.fromEntries(
    Object.entries(CONTRACT_EVENTS).map(([key, name]) => [
      name,
      CONTRACT_EVENT_HELP[key as keyof typeof CONTRACT_EVENTS],
    ]),
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
