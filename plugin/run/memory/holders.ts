/** Processes of this machine that no layer includes: one of them can keep what a connection costs. */
import { readProcessTable, shownCommand, withDescendants } from '../../samplers/index.ts';
import type { RunContext } from '../context.ts';
import type { OtherProgram } from '../measurements/memory.ts';

/** The largest ones: small ones cannot have grown by much. */
const MAX_PROGRAMS = 50;

/** @param measured processes in the layers; the generator's own children are left out, too */
export function programsBeside(measured: number[]): OtherProgram[] {
  const table = readProcessTable();
  const known = withDescendants([process.pid], table);
  for (const pid of measured) known.add(pid);
  return [...table.values()]
    .filter(({ pid }) => !known.has(pid))
    .toSorted((a, b) => b.rssBytes - a.rssBytes)
    .slice(0, MAX_PROGRAMS)
    .map(({ pid, startedAtUs, rssBytes }) => ({ pid, startedAtUs, rssBytes, command: shownCommand(pid) }));
}

export async function noteOtherPrograms({ measurements, otherPrograms }: RunContext): Promise<void> {
  const last = await otherPrograms?.();
  if (last) measurements.otherPrograms = { first: measurements.otherPrograms?.first ?? last, last };
}
