/** Memory against connections: all layers of the deployment on one scale, from zero. */
import type { Result } from '../../protocol/result/result.ts';
import { inServicePoints } from '../figures/in-service.ts';
import {
  familyOf,
  layersOf,
  layerTitle,
  mainLayers,
  mainWorkerLayer,
  oneOfEach,
  WHOLE_MACHINE,
} from '../figures/layers.ts';
import { integer } from '../text/format.ts';
import type { Chart } from './chart.ts';
import { layerStyle } from './palette.ts';
import { type PlotCurve, plot } from './plot.ts';

const MB = 1024 * 1024;

/** Plateaus at rest, and of the workers also what they need in service. @returns null with fewer than two plateaus */
export function memoryByConnections(result: Result): Chart | null {
  const { plateaus, inService, collected } = result.memory;
  const to = Math.max(0, ...plateaus.map(({ connections }) => connections));
  if (plateaus.length < 2 || to === 0) return null;
  const layers = oneOfEach(mainLayers(result)).filter(
    (id) =>
      familyOf(id) !== WHOLE_MACHINE && layersOf(result).find((layer) => layer.id === id)?.belongsTo !== 'generator',
  );
  const atRest = layers.map(
    (layer): PlotCurve => ({
      name: layerTitle(result, layer) + (collected ? ' at rest' : ''),
      color: layerStyle(result, layer).color,
      points: inOrder(
        plateaus.flatMap(({ connections, [layer]: bytes }) =>
          bytes === undefined ? [] : [{ x: connections, y: bytes }],
        ),
      ),
    }),
  );
  const workers = mainWorkerLayer(result.memory.perConnectionBytes);
  const needed = inService ? inServicePoints({ plateaus, inService }, workers) : [];
  const { color } = layerStyle(result, workers);
  const dashed: PlotCurve = {
    ...{ name: `${layerTitle(result, workers)} in service`, color, dash: 'dashed', symbolSize: 0 },
    points: inOrder(needed),
  };
  return plot({
    title: 'Memory against connections',
    unit: 'MB',
    height: 300,
    x: { name: 'connections', from: 0, to, label: (x) => `${integer(x)} connections` },
    curves: [...atRest, dashed],
  });
}

function inOrder(points: { x: number; y: number }[]): [number, number][] {
  return points.toSorted((a, b) => a.x - b.x).map(({ x, y }) => [x, y / MB]);
}
