/** Lists memory and CPU time of the workers by package and function, for answers, sections and comparisons. */

import { isLoopback } from '../../protocol/base/machine/loopback.ts';
import type { QuantityName } from '../../protocol/result/figure.ts';
import type { CpuCodePlaces, MemoryCodePlaces } from '../../protocol/result/places-schema.ts';
import type { Result } from '../../protocol/result/result.ts';

/** The fields of a run that show where its deployment runs. */
type Run = Pick<Result['run'], 'profile' | 'target'>;

/** Returns whether the deployment runs on the generator's machine. */
export function sharesMachine({ run }: { run: Run }): boolean {
  return run.profile !== 'remote' || isLoopback(new URL(run.target).hostname);
}

/** Returns a name for the deployment of a run with the profile `remote`, which the run did not start. */
export function ownServerName(run: Run): string {
  return sharesMachine({ run }) ? 'your own server on this machine' : 'your own server';
}

/** Amount in bytes for memory, otherwise in the unit of the quantity. */
export interface CodePlaceSize {
  value: number;
  halfWidth95: number;
}

export type FunctionPlace = CodePlaceSize & { name: string; place: string; package: string };

export interface CodePlaces {
  key: 'memory' | 'connect' | 'copy';
  /** Beginning of a sentence, such as `A connection keeps`. */
  subject: string;
  /** `connection`, … */
  unit: string;
  quantity: QuantityName;
  together: number;
  packages: (CodePlaceSize & { name: string })[];
  functions: FunctionPlace[];
  unattributed: number;
}

/** Returns memory and CPU time by package and function, as far as the run measured them. */
export function codePlacesOf({ memory, cpuByPlace = {} }: Pick<Result, 'memory' | 'cpuByPlace'>): CodePlaces[] {
  const { connect, copy } = cpuByPlace;
  return [
    ...(memory.places ? [ofMemory(memory.places)] : []),
    ...(connect ? [{ ...CONNECT, ...ofCpu(connect, 1000) }] : []),
    ...(copy ? [{ ...COPY, ...ofCpu(copy, 1) }] : []),
  ];
}

const CONNECT = { key: 'connect', subject: 'CPU of a connect', unit: 'connect', quantity: 'milliseconds' } as const;
const COPY = { key: 'copy', subject: 'CPU of a copy', unit: 'copy', quantity: 'microseconds' } as const;

function ofMemory({ growthBytes, packages, functions, unattributedBytes, leftBehind }: MemoryCodePlaces): CodePlaces {
  const sized = <T extends { bytes: number }>({ bytes, ...row }: T) => ({ ...row, value: bytes });
  return {
    ...{ key: 'memory', unit: 'connection', quantity: 'kilobytes' },
    subject: leftBehind ? 'What a connection leaves behind' : 'What a connection keeps',
    ...{ together: growthBytes, unattributed: unattributedBytes },
    ...{ packages: packages.map(sized), functions: functions.map(sized) },
  };
}

/** @param usPerUnit number of microseconds in a displayed unit */
function ofCpu({ us, packages, functions, unattributedUs }: CpuCodePlaces, usPerUnit: number) {
  const sized = <T extends { us: number; halfWidth95: number }>({ us, halfWidth95, ...row }: T) => ({
    ...row,
    value: us / usPerUnit,
    halfWidth95: halfWidth95 / usPerUnit,
  });
  return {
    ...{ together: us / usPerUnit, unattributed: unattributedUs / usPerUnit },
    ...{ packages: packages.map(sized), functions: functions.map(sized) },
  };
}
