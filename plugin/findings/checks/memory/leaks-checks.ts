/** Detects memory leaks in each layer, for runs whose connections open and close. */
import type { FindingCode } from '../../../../protocol/codes/finding-codes.ts';
import { type FindingValue, findingValues } from '../../../../protocol/result/findings.ts';
import type { MemoryDrift, OverTimeResult } from '../../../../protocol/result/memory-schema.ts';
import { driftText } from '../../../../report/answer/over-time-line.ts';
import { layerFamily, layerTitle } from '../../../../report/figures/layers.ts';
import { confirmedCauses, type LayerDrift, leakingLayers } from '../../../../report/figures/memory-leaks.ts';
import { decimalsText, integerText } from '../../../../report/text/format.ts';
import { defineCheck, type FindingCheck, type FindingDetail, type RunFigures } from '../../check.ts';

type LeakCode = Extract<FindingCode, `${string}_LEAK`> | 'STILL_COUNTED';

/**
 * Finding codes by the first word of a memory figure's id. Layers that are not listed belong to the deployment, such as
 * a proxy.
 */
const CODES: Record<string, LeakCode> = {
  worker: 'WORKERS_LEAK',
  redis: 'REDIS_LEAK',
  kernel: 'MACHINE_LEAK',
  system: 'MACHINE_LEAK',
};

const codeOf = (layer: string): LeakCode => CODES[layerFamily(layer)] ?? 'PROXY_LEAK';

export const leaksChecks: FindingCheck[] = (
  ['STILL_COUNTED', 'WORKERS_LEAK', 'REDIS_LEAK', 'PROXY_LEAK', 'MACHINE_LEAK'] as const
).map((code) =>
  defineCheck(code, (result) => [
    ...keptOf(code, result),
    ...(result.absent.memory === undefined ? leaksOf(code, result) : []),
  ]),
);

/**
 * Returns the object counts that grew. Counts of the workers have a separate finding code; other counts are reported
 * with the memory of their layer.
 */
function keptOf(code: LeakCode, { memory }: RunFigures): FindingDetail[] {
  const kept = memory.overTime?.counts.filter(({ isKept }) => isKept) ?? [];
  return kept.flatMap(({ id, title, first, last, perConnection: value, low95, high95 }) => {
    const own = codeOf(id) === 'WORKERS_LEAK' ? 'STILL_COUNTED' : codeOf(id);
    if (own !== code) return [];
    const name = `${title} left behind by each connection`;
    const message = `${title} grew from ${integerText(first)} to ${integerText(last)} after all connections had closed: ${decimalsText(value, 2)} for each connection`;
    const values = [
      { name, value, unit: '', low95, high95 },
      ...findingValues({ [`${title} at first`]: first, [`${title} at last`]: last }),
    ];
    return [{ subject: title, values, message }];
  });
}

function leaksOf(code: LeakCode, result: RunFigures): FindingDetail[] {
  const { overTime: found } = result.memory;
  if (!found) return [];
  return leakingLayers(result)
    .filter(({ layer }) => codeOf(layer) === code)
    .map((one) => detailOf(result, found, one));
}

function detailOf(result: RunFigures, found: OverTimeResult, { layer, drift }: LayerDrift): FindingDetail {
  const title = layerTitle(result, layer);
  const { perConnection, inTime } = confirmedCauses(layer, found);
  const values = [...(perConnection || !inTime ? [ofConnection(drift)] : []), ...(inTime ? ofTime(drift) : [])];
  const message = `${title} ${driftText(result, layer)}`;
  return { subject: title, values, message, ...(codeOf(layer) === 'WORKERS_LEAK' && keeperOf(result)) };
}

/** Packages that keep objects only for connections that the server has not released. */
const OF_CONNECTIONS = ['engine.io', 'socket.io', 'ws'];
/**
 * Minimum share of the remaining memory that must belong to these packages, so that whole connections count as kept. It is
 * well below the share of a connection with 8 KB of the application, a third, because a heap profile is a sample.
 */
const WHOLE_CONNECTIONS = 0.15;

/** Returns the suggested fix if a heap profile shows which code keeps memory after each wave. */
function keeperOf({ memory: { places } }: RunFigures): Pick<FindingDetail, 'fix'> | undefined {
  if (!places?.leftBehind) return undefined;
  const found = places.functions.find((one) => one.package === 'application' && one.bytes > one.halfWidth95);
  const where = found && `${found.place} (${decimalsText(found.bytes / 1024, 1)} KB of each)`;
  const ofConnections = OF_CONNECTIONS.flatMap((name) => places.packages.find((one) => one.name === name) ?? []);
  const bytes = ofConnections.reduce((sum, one) => sum + one.bytes, 0);
  if (bytes >= WHOLE_CONNECTIONS * places.growthBytes) {
    const also = where ? `; the application allocates beside them in ${where}` : '';
    return {
      fix: `whole connections stay, with ${decimalsText(bytes / 1024, 1)} KB of ${ofConnections.map(({ name }) => name).join(', ')}: find what keeps their sockets, such as an array or a Map, a listener on an emitter that outlives them, or a timer${also}`,
    };
  }
  return where ? { fix: `see what keeps what ${where} allocates` } : undefined;
}

function ofConnection({ bytesPerConnection: value, low95, high95 }: MemoryDrift): FindingValue {
  return { name: 'left behind by each connection', value, unit: 'bytes', low95, high95 };
}

function ofTime({ perSecond }: MemoryDrift): FindingValue[] {
  if (!perSecond) return [];
  const { bytes: value, low95, high95 } = perSecond;
  return [{ name: 'added regardless of connections', value, unit: 'bytes/s', low95, high95 }];
}
