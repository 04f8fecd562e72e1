/** The environment and every setting: what is needed to repeat the measurement. */
import type { Result } from '../../protocol/result/result.ts';
import { outcomeOf } from '../answer/outcome.ts';
import { decimals, integer } from '../text/format.ts';
import { ownServer } from '../text/place.ts';
import { serverName, serverProperties } from '../text/server.ts';
import { coreCount } from '../text/usable.ts';
import { type Html, type HtmlValue, html } from './html.ts';
import { dataTable, NOT_MEASURED, section } from './section.ts';

const NOT_KNOWN = 'not known: its workers do not describe it';
const GIB = 1024 ** 3;
const PROFILES = {
  full: 'nginx, PM2 and Redis',
  embedded: 'embedded: workers with the in-memory adapter, no proxy',
};

export function environment(result: Result): Html {
  const { run, environment: found } = result;
  const { versions, kernel, cpu, cpuCount, memoryBytes, limits, sysctls, settings, configHash, gitCommit } = found;
  const table = (title: string, rows: HtmlValue[][]) =>
    rows.length > 0 && html`<h3>${title}</h3>${dataTable(title, ['', ''], rows)}`;
  return section({
    id: 'environment',
    title: 'Environment and settings',
    folded: true,
    lead: 'These describe the generator’s machine, and the deployment if it runs on the same machine.',
    body: html`${table('Run', [
      ['Id', run.id],
      ['Scenario', run.scenario],
      ['Target', run.target],
      ['Profile', run.profile === 'remote' ? ownServer(run) : PROFILES[run.profile]],
      ['Engine', run.engine],
      ['Started', run.startedAt],
      ['Ended', run.endedAt],
      ['Git commit', gitCommit ?? NOT_MEASURED],
      ['Settings, SHA-256', configHash],
    ])}
${table('Machine', [
  ['CPU', `${cpu}, ${integer(cpuCount)} cores`],
  ['Memory', `${decimals(memoryBytes / GIB, 1)} GiB`],
  ['Kernel', kernel],
  ...Object.entries(limits).map(([name, value]) => [name, coreCount(value)]),
  ...Object.entries(sysctls),
])}
${table('Versions', Object.entries(versions))}
${table('Server', [['Which', serverName(result) ?? NOT_KNOWN], ...serverProperties(result)])}
${table(
  'Thresholds',
  outcomeOf(result).thresholds.map(({ text, met, strict }) => [
    text,
    `${met ? 'met' : 'MISSED'}${strict ? '' : ' (not strict)'}`,
  ]),
)}
${table('Settings', leaves(settings))}`,
  });
}

/** `phases.0.duration`, … */
function leaves(value: unknown, path = ''): [string, string][] {
  if (typeof value !== 'object' || value === null)
    return [[path, typeof value === 'string' ? value : String(JSON.stringify(value))]];
  return Object.entries(value).flatMap(([key, inner]) => leaves(inner, path === '' ? key : `${path}.${key}`));
}
