/** How many connections a worker's share of the script can hold at once, and what a process may hold. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { durationMs } from '../script/duration.ts';
import { crowdOf, staySeconds } from '../script/flow.ts';
import { type Phase, type Script, usesThisEngine } from './types.ts';

/**
 * An upper estimate: all arrivals when virtual users hold their connections or stay for a time nobody knows;
 * otherwise the highest arrival rate times the longest flow.
 */
export function expectedConnections(script: Script): number {
  const phases = script.config.phases ?? [];
  const flows = (script.scenarios ?? []).filter((scenario) => usesThisEngine(scenario, script));
  const arrivals = sum(phases.map(arrivalsOf));
  const caps = phases.filter(hasArrivals).map((phase) => Number(phase.maxVusers ?? Number.POSITIVE_INFINITY));
  const stay = Math.max(0, ...flows.map(({ flow }) => staySeconds(flow ?? [])));
  const rate = Math.max(0, ...phases.map(ratePerSec));
  const atOnce = Number.isFinite(stay) ? Math.ceil(rate * stay) : arrivals;
  const each = Math.max(1, ...flows.map(({ flow }) => crowdOf(flow ?? []).count));
  return each * Math.min(arrivals, atOnce, Math.max(0, ...caps));
}

/** Open files one process may have. Node itself has raised the soft limit to the hard one, for children too. */
export function fdLimit(): number {
  try {
    const [, soft] = /Max open files\s+(\d+)/.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return Number(soft ?? Number.POSITIVE_INFINITY);
  } catch {
    const answer = execFileSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }).trim();
    return answer === 'unlimited' ? Number.POSITIVE_INFINITY : Number(answer);
  }
}

function hasArrivals(phase: Phase): boolean {
  return arrivalsOf(phase) > 0;
}

function arrivalsOf(phase: Phase): number {
  if (phase.pause !== undefined) return 0;
  if (phase.arrivalCount !== undefined) return Number(phase.arrivalCount);
  const from = Number(phase.arrivalRate ?? 0);
  // A ramp rounds up in each of its seconds.
  const rounding = phase.rampTo === undefined ? 0 : seconds(phase.duration);
  return Math.ceil(((from + Number(phase.rampTo ?? from)) / 2) * seconds(phase.duration)) + rounding;
}

function ratePerSec(phase: Phase): number {
  if (phase.pause !== undefined) return 0;
  if (phase.arrivalCount !== undefined) return Number(phase.arrivalCount) / Math.max(1, seconds(phase.duration));
  return Math.max(Number(phase.arrivalRate ?? 0), Number(phase.rampTo ?? 0)) + 1;
}

function seconds(duration: unknown): number {
  return (durationMs(duration) ?? 0) / 1000;
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
