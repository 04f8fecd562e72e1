/** Chart of memory against the number of connections: all layers of the deployment on one scale that starts at zero. */
import type { Result } from '../../protocol/result/result.ts';
import { inServicePoints } from '../figures/in-service.ts';
import {
  firstOfEachFamily,
  headlineLayerOf,
  layerFamily,
  layerTitle,
  mainLayers,
  mainWorkerLayer,
  WHOLE_MACHINE,
} from '../figures/layers.ts';
import { integerText, MB } from '../text/format.ts';
import { shortNumber } from './axes.ts';
import type { Chart } from './chart.ts';
import { layerStyle } from './palette.ts';
import { type ChartCurve, type ChartPoint, chartPoints, plotChart } from './plot.ts';

/**
 * Draws the memory at rest (after a garbage collection) at each plateau, and the workers' memory in service (before
 * it).
 * @returns null with fewer than two plateaus
 */
export function memoryByConnectionsChart(result: Result): Chart | null {
  const { plateaus, inService, collected } = result.memory;
  const to = Math.max(0, ...plateaus.map(({ connections }) => connections));
  if (plateaus.length < 2 || to === 0) return null;
  const layers = firstOfEachFamily(mainLayers(result))
    .filter(
      (id) =>
        layerFamily(id) !== WHOLE_MACHINE &&
        result.memory.layers.find((layer) => layer.id === id)?.belongsTo !== 'generator',
    )
    .map((id) => headlineLayerOf(result, id));
  const atRest = layers.map(
    (layer): ChartCurve => ({
      name: layerTitle(result, layer) + (collected ? ' at rest' : ''),
      color: layerStyle(result, layer).color,
      symbolSize: 8,
      points: inOrder(chartPoints(plateaus, ({ connections, [layer]: bytes }) => [connections, bytes], 1 / MB)),
    }),
  );
  const workers = headlineLayerOf(result, mainWorkerLayer(result.memory.perConnectionBytes));
  const needed = inService ? inServicePoints({ plateaus, inService }, workers) : [];
  const { color } = layerStyle(result, workers);
  const dashed: ChartCurve = {
    ...{ name: `${layerTitle(result, workers)} in service`, color, dash: 'dashed' },
    points: inOrder(chartPoints(needed, ({ x, y }) => [x, y], 1 / MB)),
  };
  return plotChart({
    title: 'Memory against connections',
    x: { name: 'connections', from: 0, to, format: shortNumber, label: (x) => `${integerText(x)} connections` },
    panels: [{ unit: 'MB', curves: [...atRest, dashed] }],
  });
}

function inOrder(points: ChartPoint[]): ChartPoint[] {
  return points.toSorted(([a], [b]) => a - b);
}
