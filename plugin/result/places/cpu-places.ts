/** Finds the packages and functions in which workers use CPU, per connect and per copy. */

import { describeError } from '../../../protocol/codes/errors.ts';
import type { V8Profile } from '../../../protocol/profiles/profile-schema.ts';
import type { CpuByCodePlace, CpuCodePlaces } from '../../../protocol/result/places-schema.ts';
import type { CpuProfiled } from '../../run/measurements/measurements.ts';
import { codePlaceRows, compareLargestFirst } from './place-rows.ts';

/** Returns the workers' CPU time by package and function; undefined if CPU profiles were not configured. */
export function cpuByCodePlace(profiled: CpuProfiled | undefined): CpuByCodePlace | undefined {
  if (!profiled) return undefined;
  const [connect, copy] = [placesOf(profiled.connect), placesOf(profiled.copy)];
  const absent = profiled.failure && describeError(profiled.failure).split('\n')[0];
  return { ...(connect && { connect }), ...(copy && { copy }), ...(absent !== undefined && { absent }) };
}

function placesOf(profiled: CpuProfiled['connect']): CpuCodePlaces | undefined {
  if (!profiled || profiled.units === 0 || profiled.profiles.length === 0) return undefined;
  const { profiles, units } = profiled;
  const { packages, functions } = codePlaceRows(profiles, units);
  const sum = (of: (profile: V8Profile) => number) => profiles.reduce((total, one) => total + of(one), 0);
  const us = sum(({ cpu }) => cpu?.processUs ?? 0) / units;
  const threads = sum(({ cpu }) => (cpu?.threadUs === undefined ? 0 : cpu.processUs - cpu.threadUs)) / units;
  const all = [...packages, { name: 'other threads', value: threads, halfWidth95: 0 }].toSorted(compareLargestFirst);
  const sampledUs = sum(({ nodes }) => nodes.reduce((total, { self }) => total + self, 0));
  return {
    units,
    us,
    packages: all.map(({ value, ...row }) => ({ ...row, us: value })),
    functions: functions.map(({ value, ...row }) => ({ ...row, us: value })),
    unattributedUs: us - all.reduce((total, { value }) => total + value, 0),
    busyShare: sampledUs === 0 ? 0 : sum(busyUs) / sampledUs,
  };
}

function busyUs({ nodes }: V8Profile): number {
  return nodes.reduce((sum, { self, name }) => sum + (name === '(idle)' ? 0 : self), 0);
}
