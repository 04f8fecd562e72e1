/** Section on the environment and all settings, to repeat the measurement. */
import type { Result } from '../../protocol/result/result.ts';
import { ownServerName } from '../figures/places.ts';
import { embeddedName, serverName, serverProperties, settingLines } from '../figures/setting-lines.ts';
import { coreCountText } from '../figures/usable-resources.ts';
import { factsTable, figuresTable, linesBlock, type ReportSection } from '../model/document.ts';

export function environmentSection(result: Result): ReportSection {
  const { run, environment: found } = result;
  const { versions, limits, sysctls, settings, configHash, gitCommit } = found;
  return {
    id: 'environment',
    title: 'Environment and settings',
    lead: 'The generator’s machine, and the deployment’s if it is the same one.',
    folded: true,
    appendix: true,
    blocks: [
      factsTable('Run', [
        ['Id', run.id],
        ['Scenario', run.scenario],
        ['Command', `npx artillery run ${run.file ?? `scenarios/${run.scenario}.yml`}`],
        ['Target', run.target],
        ['Profile', profileText(run)],
        ['Engine', run.engine],
        ['Started', run.startedAt],
        ['Ended', run.endedAt],
        ['Git commit', gitCommit ?? 'unknown'],
        ['Settings, SHA-256', configHash],
      ]),
      factsTable('Limits and kernel settings', [
        ...Object.entries(limits).map(([name, value]): [string, string] => [name, coreCountText(value)]),
        ...Object.entries(sysctls),
      ]),
      factsTable('Versions', Object.entries(versions)),
      factsTable('Server', [
        ['Which', serverName(result) ?? 'unknown: its workers do not describe it'],
        ...serverProperties(result),
      ]),
      factsTable('Settings', settingLines(settings)),
    ],
  };
}

/** Returns the programs of the deployment, such as `nginx, PM2 and Redis`. */
export function profileText(run: Result['run']): string {
  if (run.profile === 'remote') return ownServerName(run);
  return embeddedName({ run }) ?? 'nginx, PM2 and Redis';
}

/** Returns the section on the measured processes. */
export function processesSection(result: Result): ReportSection | null {
  const { processes: found } = result;
  if (found === null || found.measured.length + found.notCounted.length === 0) return null;
  const { port, unseen, measured, omitted, notCounted } = found;
  const listed = (ports: number[] | null) => ports?.join(', ') ?? 'cannot be seen';
  const head = ['Layer', 'Process', 'Command', 'Listens on', 'Target’s listeners', 'Held connections'];
  const counted = measured.map(({ layer, pid, command, ports, role, holds }) => [
    layer,
    String(pid),
    command,
    listed(ports),
    role,
    holds === null ? 'unknown' : holds ? 'yes' : 'no',
  ]);
  const others = notCounted.map(({ pid, command, ports, why }) => [String(pid), command, listed(ports), why]);
  return {
    id: 'processes',
    title: 'Measured processes',
    lead: 'The processes of this machine whose memory and CPU are in the figures of the deployment.',
    folded: true,
    blocks: [
      figuresTable('Counted', head, counted),
      figuresTable('Not counted', ['Process', 'Command', 'Listens on', 'Why'], others),
      linesBlock('note', [
        unseen !== null && port !== null && `Listeners on port ${port} could not be seen: ${unseen}.`,
        omitted > 0 && `${omitted} further processes are counted, too.`,
      ]),
    ],
  };
}
