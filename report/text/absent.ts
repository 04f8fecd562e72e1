/** Why sections are missing, in sentences. */
import type { Result } from '../../protocol/result/result.ts';

type Absent = Result['absent'];

/** In results of versions that did not give the reason, only an external engine left delivery out. */
const NO_LEDGER = 'this engine does not report which broadcasts arrive';

export function whyNoDelivery({ absent }: Pick<Result, 'absent'>): string {
  return absent.delivery ?? NO_LEDGER;
}

const HEADLINE = { memory: 'memory', cpu: 'CPU', delivery: 'delivery' } as const;

/** @returns `memory, CPU and delivery were not measured: no control port`; null where all were */
export function absentHeadline({ absent }: { absent: Absent }): string | null {
  const keys = (Object.keys(HEADLINE) as (keyof typeof HEADLINE)[]).filter((key) => absent[key] !== undefined);
  if (keys.length === 0) return null;
  const byReason = [...Map.groupBy(keys, (key) => absent[key] as string)];
  return byReason.map(([reason, sections]) => `${listed(sections.map((key) => HEADLINE[key]))}: ${reason}`).join('; ');
}

function listed(names: string[]): string {
  const last = names.at(-1) as string;
  const all = names.length > 1 ? `${names.slice(0, -1).join(', ')} and ${last}` : last;
  return `${all} ${names.length > 1 ? 'were' : 'was'} not measured`;
}
