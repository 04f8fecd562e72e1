/** Section on the measured processes. */
import type { Result } from '../../protocol/result/result.ts';
import { grid, lines, type Section } from '../model/document.ts';

export function processes(result: Result): Section | null {
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
      grid('Counted', head, counted),
      grid('Not counted', ['Process', 'Command', 'Listens on', 'Why'], others),
      lines('note', [
        unseen !== null && port !== null && `Listeners on port ${port} could not be seen: ${unseen}.`,
        omitted > 0 && `${omitted} further processes are counted, too.`,
      ]),
    ],
  };
}
