/** What connections leave behind in each layer, in runs whose connections come and go. */
import type { FindingCode } from '../../../protocol/codes/finding-codes.ts';
import type { FindingValue } from '../../../protocol/result/findings.ts';
import type { Drift, OverTimeResult } from '../../../protocol/result/over-time.ts';
import { driftText } from '../../../report/answer/over-time-line.ts';
import { familyOf, layerTitle } from '../../../report/figures/layers.ts';
import { confirmedCauses, type LayerDrift, otherDrifts, workersDrift } from '../../../report/figures/left-behind.ts';
import { type Check, check, type Detail, type Measured } from '../check.ts';

type LeakCode = Extract<FindingCode, `${string}_LEAK`>;

/** By the first word of a figure; every other layer is a part of the deployment like the proxy. */
const CODES: Record<string, LeakCode> = {
  worker: 'WORKERS_LEAK',
  redis: 'REDIS_LEAK',
  kernel: 'MACHINE_LEAK',
  system: 'MACHINE_LEAK',
};

const codeOf = (layer: string): LeakCode => CODES[familyOf(layer)] ?? 'PROXY_LEAK';

export const leaks: Check[] = (['WORKERS_LEAK', 'REDIS_LEAK', 'PROXY_LEAK', 'MACHINE_LEAK'] as const).map((code) =>
  check(code, (result) => (result.absent.memory === undefined ? leaksOf(code, result) : undefined)),
);

function leaksOf(code: LeakCode, result: Measured): Detail[] {
  const { overTime: found } = result.memory;
  if (!found) return [];
  return [workersDrift(found) ?? [], otherDrifts(result)]
    .flat()
    .filter(({ layer, drift }) => drift.leaks && codeOf(layer) === code && !confirmedCauses(layer, found).onlyPages)
    .map((one) => detailOf(result, found, one));
}

function detailOf(result: Measured, found: OverTimeResult, { layer, drift }: LayerDrift): Detail {
  const title = layerTitle(result, layer);
  const { perConnection, inTime } = confirmedCauses(layer, found);
  const values = [...(perConnection || !inTime ? [ofConnection(drift)] : []), ...(inTime ? ofTime(drift) : [])];
  return { subject: title, values, message: `${title} ${driftText(result, layer)}` };
}

function ofConnection({ bytesPerConnection: value, low95, high95 }: Drift): FindingValue {
  return { name: 'left behind by each connection', value, unit: 'bytes', low95, high95 };
}

function ofTime({ perSecond }: Drift): FindingValue[] {
  if (!perSecond) return [];
  const { bytes: value, low95, high95 } = perSecond;
  return [{ name: 'added regardless of connections', value, unit: 'bytes/s', low95, high95 }];
}
