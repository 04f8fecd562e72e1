/** What comes next: the limits that the run knows, and how many connections fit into a memory budget. */
import type { Result } from '../../protocol/result/result.ts';
import { idleCostOf } from '../figures/idle-cpu.ts';
import { mainWorkerLayer } from '../figures/layers.ts';
import { limitName, limitsOf, nextLimit } from '../figures/limits.ts';
import { amount } from '../model/amount.ts';
import { absentSection, type Cell, facts, type Section } from '../model/document.ts';
import { DOUBT_TEXTS, whyNot } from '../statistics/straightness.ts';
import { integer } from '../text/format.ts';

const TITLE = 'Limits';

/** Null for a run that cannot be trusted, and where nothing is known. */
export function capacity(result: Result): Section | null {
  if (result.verdict.status === 'INVALID') return null;
  if (result.absent.memory !== undefined) return absentSection('capacity', TITLE, result.absent.memory);
  const rows = [...limitRows(result), ...budgetRow(result)];
  if (rows.length === 0) return null;
  const next = nextLimit(result);
  return {
    id: 'capacity',
    title: TITLE,
    lead: 'How many connections the known limits would allow. The CPU of connecting and broadcasting, and the time to reach everybody, are not among them.',
    terms: ['capacity'],
    findings: next ? [{ text: `next limit: ${integer(next.max)} ${limitName(next.name)}` }] : [],
    folded: true,
    blocks: [facts('Limits, the next one first', rows)],
  };
}

function limitRows(result: Result): [string, Cell, string][] {
  const { pings, unknown } = result.capacity;
  const noPings = noPingLimit(result);
  const missing = [...unknown, ...(noPings === null ? [] : [{ name: 'pings', why: noPings }])];
  return [
    ...limitsOf(result).map(({ name, max }): [string, Cell, string] => [
      capitalized(limitName(name)),
      amount('count', max),
      name === 'pings' && pings
        ? `with a ping every ${integer(pings.intervalMs / 1000)} s; 95 %: ${integer(pings.low95)} to ${integer(pings.high95)}`
        : '',
    ]),
    ...missing.map(({ name, why }): [string, Cell, string] => [
      capitalized(limitName(name)),
      amount('count', null),
      `not known: ${why}`,
    ]),
  ];
}

/** A question that somebody asked, and no limit. */
function budgetRow({ capacity: { memoryLimited }, memory, environment }: Result): [string, Cell, string][] {
  const { perConnectionBytes, inService } = memory;
  if (memoryLimited) {
    const { budgetBytes, basis, connections } = memoryLimited;
    const name = `Connections that fit into ${integer(budgetBytes / 1024 ** 2)} MB of workers`;
    return [[name, amount('count', connections), basis === 'inService' ? 'by memory in service' : 'by memory at rest']];
  }
  const layer = mainWorkerLayer(perConnectionBytes);
  const [atRest, needed] = [perConnectionBytes[layer], inService?.perConnectionBytes[layer]];
  const doubt = (atRest && whyNot(atRest)) ?? (needed?.doubt && DOUBT_TEXTS[needed.doubt]);
  const budget = Number(environment.settings.memoryBudgetBytes);
  if (doubt === undefined || !(budget > 0)) return [];
  const name = `Connections that fit into ${integer(budget / 1024 ** 2)} MB of workers`;
  return [[name, amount('count', null), `not known (the workers’ memory: ${doubt})`]];
}

/** @returns why there is no limit of pings; null where there is one, or where nobody was idle */
export function noPingLimit(result: Result): string | null {
  const held = result.stages.some(({ name }) => name === 'hold');
  if (!held || result.messages || result.absent.cpu !== undefined) return null;
  const cost = idleCostOf(result);
  return cost.known ? null : cost.why;
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
