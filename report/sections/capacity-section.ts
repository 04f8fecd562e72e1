/** Section on the deployment's limits, and on the connections that fit into a memory budget. */
import type { Result } from '../../protocol/result/result.ts';
import { whyNoBudget } from '../figures/capacity.ts';
import { cpuPerIdleConnection } from '../figures/idle-cpu.ts';
import { capacityLimitsOf, limitName } from '../figures/limits.ts';
import { amount } from '../model/amount.ts';
import { absentSection, factsTable, linesBlock, type ReportSection, type TableCell } from '../model/document.ts';
import { integerText } from '../text/format.ts';

const TITLE = 'Limits';

/** Returns the section; null for an INVALID run, and if no limit is known. */
export function capacitySection(result: Result): ReportSection | null {
  if (result.verdict.status === 'INVALID') return null;
  if (result.absent.memory !== undefined) return absentSection('capacity', TITLE, result.absent.memory);
  const rows = limitRows(result);
  const budget = budgetText(result);
  if (rows.length === 0 && budget === null) return null;
  return {
    id: 'capacity',
    title: TITLE,
    lead: 'How many connections the known limits would allow. The CPU of connecting and broadcasting, and the time to the last copy are not among them.',
    terms: ['Limits'],
    folded: true,
    blocks: [factsTable('Limits, the next one first', rows), linesBlock('text', [budget])],
  };
}

function limitRows(result: Result): [string, TableCell, string][] {
  const { pings, unknown } = result.capacity;
  const noPings = whyNoPingLimit(result);
  const missing = [...unknown, ...(noPings === null ? [] : [{ name: 'pings', why: noPings }])];
  return [
    ...capacityLimitsOf(result).map(({ name, max }): [string, TableCell, string] => [
      capitalized(limitName(name)),
      amount('count', max),
      name === 'pings' && pings
        ? `with a ping every ${integerText(pings.intervalMs / 1000)} s; 95 %: ${integerText(pings.low95)} to ${integerText(pings.high95)}`
        : '',
    ]),
    ...missing.map(({ name, why }): [string, TableCell, string] => [
      capitalized(limitName(name)),
      amount('count', null),
      `unknown: ${why}`,
    ]),
  ];
}

/**
 * Describes how many connections fit into the memory budget that a setting gives. Such a budget is not a limit. Null
 * for runs whose connections do not stay open.
 */
function budgetText(result: Result): string | null {
  const { memoryLimited } = result.capacity;
  const budget = memoryLimited?.budgetBytes ?? Number(result.environment.settings.memoryBudgetBytes);
  const memory = `${integerText(budget / 1024 ** 2)} MB of memory`;
  if (memoryLimited) {
    return `In ${memory}, the workers would have room for ${integerText(memoryLimited.connections)} connections, by what each needs in service.`;
  }
  const why = whyNoBudget(result);
  return why === undefined || !(budget > 0) || result.memory.overTime
    ? null
    : `How many connections the workers would have room for in ${memory} is unknown: ${why}.`;
}

/**
 * Returns why the number of connections whose pings the CPU can serve is unknown. Null if it is known, or if the run
 * had no idle connections.
 */
export function whyNoPingLimit(result: Result): string | null {
  const held = result.stages.some(({ name }) => name === 'hold');
  if (!held || result.messages || result.absent.cpu !== undefined) return null;
  const cost = cpuPerIdleConnection(result);
  return cost.known ? null : cost.why;
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
