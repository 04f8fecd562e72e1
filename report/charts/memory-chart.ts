/** Memory against connections: all layers of the deployment on one scale, from zero. */
import type { Result } from '../../protocol/result/result.ts';
import { inServicePoints } from '../figures/in-service.ts';
import {
  asCounted,
  familyOf,
  layerTitle,
  mainLayers,
  mainWorkerLayer,
  oneOfEach,
  WHOLE_MACHINE,
} from '../figures/layers.ts';
import { integer, MB } from '../text/format.ts';
import { shortNumber } from './axes.ts';
import type { Chart } from './chart.ts';
import { layerStyle } from './palette.ts';
import { type Curve, type Point, plot, pointsOf } from './plot.ts';

/**
 * Draws memory at rest at each plateau, and the workers' memory in service.
 * @returns null with fewer than two plateaus
 */
export function memoryByConnections(result: Result): Chart | null {
  const { plateaus, inService, collected } = result.memory;
  const to = Math.max(0, ...plateaus.map(({ connections }) => connections));
  if (plateaus.length < 2 || to === 0) return null;
  const layers = oneOfEach(mainLayers(result))
    .filter(
      (id) =>
        familyOf(id) !== WHOLE_MACHINE &&
        result.memory.layers.find((layer) => layer.id === id)?.belongsTo !== 'generator',
    )
    .map((id) => asCounted(result, id));
  const atRest = layers.map(
    (layer): Curve => ({
      name: layerTitle(result, layer) + (collected ? ' at rest' : ''),
      color: layerStyle(result, layer).color,
      symbolSize: 8,
      points: inOrder(pointsOf(plateaus, ({ connections, [layer]: bytes }) => [connections, bytes], 1 / MB)),
    }),
  );
  const workers = asCounted(result, mainWorkerLayer(result.memory.perConnectionBytes));
  const needed = inService ? inServicePoints({ plateaus, inService }, workers) : [];
  const { color } = layerStyle(result, workers);
  const dashed: Curve = {
    ...{ name: `${layerTitle(result, workers)} in service`, color, dash: 'dashed' },
    points: inOrder(pointsOf(needed, ({ x, y }) => [x, y], 1 / MB)),
  };
  return plot({
    title: 'Memory against connections',
    x: { name: 'connections', from: 0, to, format: shortNumber, label: (x) => `${integer(x)} connections` },
    panels: [{ unit: 'MB', curves: [...atRest, dashed] }],
  });
}

function inOrder(points: Point[]): Point[] {
  return points.toSorted(([a], [b]) => a - b);
}
