import type { Result } from '../../protocol/result/result.ts';
import { mainWorkerLayer } from '../figures/layers.ts';
import { isTold } from '../figures/per-connection.ts';
import { withUnit } from '../model/amount.ts';
import { COST, costAmount, costNote, costText } from './cost.ts';
import { figureOf, type Line } from './line.ts';
import { memoryPlacesLine } from './places-line.ts';

const TOO_FEW = 'that takes readings at two or more numbers of connections';

/** Omitted after a planned fault, because such a run has too few plateaus. */
export function memoryLines(result: Result): Line[] {
  const { memory: found, absent, fault, run } = result;
  const cost = absent.memory === undefined ? found.perConnection : null;
  if (fault) return [];
  if (cost) {
    const inService = isTold(cost) && cost.inService !== null && withUnit('kilobytes', cost.inService);
    const needed = inService && `${inService} in service, with garbage and buffers`;
    const note = [costNote(cost, found.collected), needed].filter(Boolean).join('; ');
    return [
      { text: costText(cost, found.collected, result), figure: figureOf(COST, costAmount(cost, result), note) },
      ...memoryPlacesLine(result),
    ];
  }
  const layer = mainWorkerLayer(found.perConnectionBytes);
  const why = absent.memory ?? found.absent[layer] ?? (run.complete ? TOO_FEW : `the run ended early: ${TOO_FEW}`);
  return [{ text: null, figure: figureOf(COST, null, why) }];
}
