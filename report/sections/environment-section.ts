/** Section on the environment and all settings, to repeat the measurement. */
import type { Result } from '../../protocol/result/result.ts';
import { embeddedName, serverName, serverProperties } from '../figures/measured-server.ts';
import { ownServer } from '../figures/place.ts';
import { settingLines } from '../figures/setting-lines.ts';
import { coreCount } from '../figures/usable-resources.ts';
import { facts, type Section } from '../model/document.ts';

export function environment(result: Result): Section {
  const { run, environment: found } = result;
  const { versions, limits, sysctls, settings, configHash, gitCommit } = found;
  return {
    id: 'environment',
    title: 'Environment and settings',
    lead: 'The generator’s machine, and the deployment’s if it is the same one.',
    folded: true,
    appendix: true,
    blocks: [
      facts('Run', [
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
      facts('Limits and kernel settings', [
        ...Object.entries(limits).map(([name, value]): [string, string] => [name, coreCount(value)]),
        ...Object.entries(sysctls),
      ]),
      facts('Versions', Object.entries(versions)),
      facts('Server', [
        ['Which', serverName(result) ?? 'not known: its workers do not describe it'],
        ...serverProperties(result),
      ]),
      facts('Settings', settingLines(settings)),
    ],
  };
}

/** Returns, for example, `nginx, PM2 and Redis`. */
export function profileOf(run: Result['run']): string {
  if (run.profile === 'remote') return ownServer(run);
  return embeddedName({ run }) ?? 'nginx, PM2 and Redis';
}
