/** The sections of the console summary on memory. */
import type { Result } from '../../protocol/result/result.ts';
import { isNoise, layerTitle, mainLayers, oneOfEach, slopeLayers } from '../figures/layers.ts';
import { decimals, integer, kilobytes, megabytes } from '../text/format.ts';
import { collectionNotes, doubts, plateauMemory, slopesNote, workerSources } from '../text/memory-text.ts';
import { fittingTable } from '../text/table.ts';
import { INDENT, notMeasured, optional, type Section } from './tables.ts';

export function plateaus(result: Result, width: number): Section | null {
  const { memory } = result;
  if (memory.plateaus.length === 0) return null;
  const read = mainLayers(result).filter((layer) => memory.plateaus.some((plateau) => layer in plateau));
  const layers = oneOfEach(read);
  const title = 'RAM against connections (MB)';
  if (result.absent.memory !== undefined) return notMeasured(title, result.absent.memory);
  const rows = memory.plateaus.map((plateau) => [
    integer(plateau.connections),
    ...layers.map((layer) => optional(plateau[layer], megabytes)),
  ]);
  const head = ['Connections', ...layers.map((layer) => layerTitle(result, layer))];
  return { title, lines: fittingTable(head, rows, INDENT, width) };
}

export function perConnection(result: Result, width: number): Section | null {
  const { memory, verdict } = result;
  const layers = slopeLayers(result);
  if (layers.length === 0 || verdict.status === 'INVALID' || result.absent.memory !== undefined) return null;
  const rows = layers.map((layer) => {
    const { slope, high95, r2, naive } = memory.perConnectionBytes[
      layer
    ] as Result['memory']['perConnectionBytes'][string];
    const inService = memory.inService?.perConnectionBytes[layer];
    const residual = optional(memory.residualBytes[layer], megabytes);
    // Rounded down, so that only a perfect line is 1.
    return [
      layerTitle(result, layer),
      kilobytes(slope),
      halfWidth({ slope, high95 }),
      optional(inService?.slope, kilobytes),
      inService ? halfWidth(inService) : '–',
      decimals(Math.floor(r2 * 1000) / 1000, 3),
      kilobytes(naive),
      residual,
    ];
  });
  return {
    title: 'Memory per connection (KB)',
    lines: fittingTable(
      ['Layer', plateauMemory(memory), '95 %', 'In service', '95 %', 'R²', 'Naive', 'Residual (MB)'],
      rows,
      INDENT,
      width,
    ),
    notes: [
      slopesNote(memory),
      ...workerSources(result).map((source) => `Source of ${source}.`),
      ...doubts(result).map((doubt) => `Not to be quoted: ${doubt}.`),
      ...collectionNotes(result),
      ...sumNote(result),
    ],
  };
}

function halfWidth({ slope, high95 }: { slope: number; high95: number | null }): string {
  return high95 === null ? '–' : `± ${kilobytes(high95 - slope)}`;
}

/** Whether the layers add up. The machine's total is compared only if its error is smaller than the sum of the parts. */
function sumNote(result: Result): string[] {
  const added = result.memory.sum;
  if (!added || added.systemHigh95 === null) return [];
  const { parts, partsPerConnectionBytes, systemPerConnectionBytes, systemHigh95 } = added;
  const errorBytes = systemHigh95 - systemPerConnectionBytes;
  const whole =
    errorBytes < partsPerConnectionBytes && !isNoise(result, 'systemHeld')
      ? `The memory of the whole machine grew by ${kilobytes(systemPerConnectionBytes)} ± ${kilobytes(errorBytes)} per connection; ` +
        `the difference is ${kilobytes(added.unexplainedPerConnectionBytes)}.`
      : `The memory of the whole machine varied too much for a comparison (± ${kilobytes(errorBytes)}), because other programs were running on it.`;
  return [
    `Sum of ${parts.map((layer) => layerTitle(result, layer)).join(', ')}: ${kilobytes(partsPerConnectionBytes)}. ${whole}`,
  ];
}
