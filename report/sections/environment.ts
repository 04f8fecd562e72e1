/** The environment and every setting: what is needed to repeat the measurement. */
import type { Result } from '../../protocol/result/result.ts';
import { ownServer } from '../figures/place.ts';
import { serverName, serverProperties } from '../figures/server.ts';
import { coreCount } from '../figures/usable.ts';
import { type Block, facts, type Section } from '../model/document.ts';
import { decimals, integer } from '../text/format.ts';

const GIB = 1024 ** 3;

export function environment(result: Result): Section {
  const { run, environment: found } = result;
  const { versions, kernel, cpu, cpuCount, memoryBytes, limits, sysctls, settings, configHash, gitCommit } = found;
  return {
    id: 'environment',
    title: 'Environment and settings',
    lead: 'Of the generator’s machine, and of the deployment if it runs on the same machine.',
    folded: true,
    appendix: true,
    blocks: [
      ...named('Run', [
        ['Id', run.id],
        ['Scenario', run.scenario],
        ['Command', `npx artillery run ${run.file ?? `scenarios/${run.scenario}.yml`}`],
        ['Target', run.target],
        ['Profile', profileOf(run)],
        ['Engine', run.engine],
        ['Started', run.startedAt],
        ['Ended', run.endedAt],
        ['Git commit', gitCommit ?? 'not known'],
        ['Settings, SHA-256', configHash],
      ]),
      ...named('Machine', [
        ['CPU', `${cpu}, ${integer(cpuCount)} cores`],
        ['Memory', `${decimals(memoryBytes / GIB, 1)} GiB`],
        ['Kernel', kernel],
        ...Object.entries(limits).map(([name, value]): [string, string] => [name, coreCount(value)]),
        ...Object.entries(sysctls),
      ]),
      ...named('Versions', Object.entries(versions)),
      ...named('Server', [
        ['Which', serverName(result) ?? 'not known: its workers do not describe it'],
        ...serverProperties(result),
      ]),
      ...named('Settings', leaves(settings)),
    ],
  };
}

/** @returns `nginx, PM2 and Redis` */
export function profileOf(run: Result['run']): string {
  if (run.profile === 'remote') return ownServer(run);
  return run.profile === 'full' ? 'nginx, PM2 and Redis' : 'embedded: workers with the in-memory adapter, no proxy';
}

function named(title: string, rows: [string, string][]): Block[] {
  return rows.length === 0 ? [] : [facts(title, rows)];
}

/** `phases.0.duration`, … */
function leaves(value: unknown, path = ''): [string, string][] {
  if (typeof value !== 'object' || value === null)
    return [[path, typeof value === 'string' ? value : String(JSON.stringify(value))]];
  return Object.entries(value).flatMap(([key, inner]) => leaves(inner, path === '' ? key : `${path}.${key}`));
}
