/**
 * The pages of the reference, each made from what the code says of itself; here, those that are made from schemas. What stands
 * above `MARK` in a page is written by hand: at most an introduction and an example.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { z } from 'zod';
import { REPORT_FILES } from '../../plugin/result/report-files.ts';
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
import { EVENT_HELP, EVENTS } from '../../protocol/events.ts';
import { resultSchema } from '../../protocol/result/result.ts';
import { ADAPTERS } from '../../server/adapters/index.ts';
import { environmentSchema as serverEnvironment } from '../../server/config.ts';
import { REQUEST_ARGUMENTS } from '../../server/control/control.ts';
import { SERIES as SERVER_SERIES } from '../../server/control/metrics.ts';
import { optionsSchema as instrumentOptions } from '../../server/instrument.ts';
import { environmentSchema as nodeEnvironment } from '../../server/stack/server-node.ts';
import { environmentSchema as stackEnvironment } from '../../server/stack/state/state-dir.ts';
import { entries as tunings } from '../../server/tunings.ts';
import { cli, errors, metrics } from './catalogue-pages.ts';
import { defaultOf, keysOf, type Node, nodeOf } from './schema.ts';
import { code, Descriptions, section, seriesTable, table } from './tables.ts';

export const MARK = '<!-- npm run docs:reference writes what follows -->';

const OPTION = ['key', 'value', 'default', 'meaning'];

/** Page → its generated part. */
export const PAGES: Record<string, () => string> = { steps, options, metrics, errors, cli, result, server };

function steps(): string {
  const descriptions = new Descriptions();
  const groups = Map.groupBy(Object.keys(STEPS), (verb) =>
    JSON.stringify(step(verb)).replaceAll(`"${verb}"`, '"verb"'),
  );
  const shapes = new Map<string, Node>();
  const parts = [...groups.values()].map((verbs) => {
    const node = step(verbs[0] as string);
    for (const [id, shape] of Object.entries(node.$defs ?? {})) shapes.set(id, shape);
    const [[, values = '', , meaning = ''] = [], ...keys] = descriptions.options(node);
    return section(
      verbs.map(code).join(', '),
      `${values === '`true`' ? `${values}: ` : ''}${meaning}.`,
      table(OPTION, keys),
    );
  });
  const checks = [...shapes].map(([id, node]) =>
    section(id, `${node.description}.`, table(OPTION, descriptions.options(node))),
  );
  return [...parts, ...checks].join('\n\n');
}

function step(verb: string): Node {
  return nodeOf((STEPS[verb] as (typeof STEPS)[string]).schema);
}

function options(): string {
  const descriptions = new Descriptions();
  const tableOf = (...schemas: z.ZodType[]) =>
    table(
      OPTION,
      schemas.flatMap((schema) => descriptions.options(nodeOf(schema))),
    );
  const scenario = Object.keys(scenarioOptionsSchema.shape).map(code).join(', ');
  return [
    section('Engine', '`config.engines.socketio-capacity`:', tableOf(engineOptions)),
    section('Scenario', `A scenario's \`socketio\` has ${scenario} for its virtual users, also with templates.`),
    section('Plugin', '`config.plugins.socketio-capacity`:', tableOf(pluginOptions)),
    section(
      'Environment',
      tableOf(environmentSchema, nodeEnvironment, stackEnvironment, hostSchema.partial(), terminalSchema),
    ),
  ].join('\n\n');
}

function result(): string {
  const descriptions = new Descriptions();
  const node = nodeOf(resultSchema);
  const sections = keysOf(node).flatMap(({ path, node: { description }, children }) =>
    children.length === 0
      ? []
      : [section(code(path), description ?? '', table(['key', 'meaning'], descriptions.keys(children)))],
  );
  const shapes = Object.entries(node.$defs ?? {}).map(([id, shape]) =>
    section(id, `${shape.description}.`, table(['key', 'meaning'], new Descriptions().keys(keysOf(shape)))),
  );
  const layers = [...LAYERS, ...Object.values(FURTHER_LAYERS)].map(({ title, figures }) => [
    ...[title, figures.map(({ id }) => code(id)).join(', ')],
  ]);
  const files = REPORT_FILES.map(([name, , help]) => [code(name), help]);
  return [
    ...sections,
    ...shapes,
    section(
      'Layers',
      'Keys of the figures of memory; a run has those of its deployment.',
      table(['part', 'layers'], layers),
    ),
    section(
      'Files of a run',
      'In `results/<run id>/`, beside `result.json`, `record.ndjson` (one line per event, as it happened) and `artillery.log` (what Artillery prints: phases, metrics, `ensure`).',
      table(['file', 'content'], files),
    ),
  ].join('\n\n');
}

function server(): string {
  const descriptions = new Descriptions();
  const adapters = Object.entries(ADAPTERS);
  const environments = [serverEnvironment, ...new Set(adapters.map(([, { environment }]) => environment))];
  const variables = environments.flatMap((schema) => descriptions.options(nodeOf(schema)));
  const events = Object.entries(EVENTS).map(([key, name]) => [code(name), EVENT_HELP[key as keyof typeof EVENTS]]);
  const requests = Object.entries(REQUEST_ARGUMENTS).map(([name, schema]) => [
    ...[
      code(name),
      keysOf(nodeOf(schema))
        .map(({ path }) => code(path.replace(/^\[\]\./, '')))
        .join(', '),
      schema.description ?? '',
    ],
  ]);
  const switches = tunings().map(([, { variable, byDefault, help }]) => [
    code(variable),
    byDefault ? '`on`' : '`off`',
    help,
  ]);
  return [
    section('`instrument(io, options)`', table(['option', 'default', 'meaning'], instrumentRows())),
    section('Events', 'In the main namespace.', table(['event', 'content'], events)),
    section(
      'Control',
      'Requests in the namespace `/capacity` of the control port, with `auth: {token}`; acknowledged by `{ok: true, value}` or `{ok: false, code, message}`.',
      table(['request', 'keys', 'what it does'], requests),
    ),
    section(
      'Series',
      'At `/metrics` of the control port; all have the label `worker`.',
      seriesTable(Object.values(SERVER_SERIES)),
    ),
    section(
      'Environment',
      'Of the included server. The stack sets names, ports, token and Redis; the workers inherit the rest.',
      table(OPTION, variables),
    ),
    section(
      'Tunings',
      'Of the included server, each `on` or `off`.',
      table(['variable', 'default', 'meaning'], switches),
    ),
    section(
      'Adapters',
      'By `CAPACITY_ADAPTER`: how a broadcast travels.',
      table(
        ['adapter', 'package and way'],
        adapters.map(([name, { help }]) => [code(name), help]),
      ),
    ),
  ].join('\n\n');
}

/** The comments of the interface are what editors show; they are the descriptions here, too. */
function instrumentRows(): string[][] {
  const source = readFileSync(join(import.meta.dirname, '../../server/instrument.ts'), 'utf8');
  const [, options = ''] = /export interface InstrumentOptions \{\n([\s\S]*?)\n\}/.exec(source) ?? [];
  const comments = [...options.matchAll(/\/\*\*([\s\S]*?)\*\/\s*(\w+)\??:/g)];
  const { properties = {} } = nodeOf(instrumentOptions);
  return comments.map(([, comment = '', name = '']) => [
    // The default name has this machine's in it.
    ...[code(name), name === 'worker' ? '' : defaultOf(properties[name] ?? {})],
    comment.replace(/\s*\n\s*\*?\s*/g, ' ').trim(),
  ]);
}
