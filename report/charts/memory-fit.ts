/** Memory of a layer against connections: the plateaus at rest, their line with its 95 % confidence band; dashed: in service. */

import { inServicePoints } from '../figures/in-service.ts';
import { type Described, layerTitle } from '../figures/layers.ts';
import { fitLine, type Line, type Point } from '../statistics/statistics.ts';
import { studentT } from '../statistics/student.ts';
import { integer } from '../text/format.ts';
import { bottomAxis, short, valueAxis } from './axes.ts';
import { type Chart, drawSmall, LINE_WIDTH } from './draw.ts';
import { COLORS, layerStyle } from './palette.ts';
import { curvesReadout } from './readout.ts';

const MB = 1024 * 1024;
const CONFIDENCE = 0.95;
const BAND_STEPS = 24;
const SIDES = { left: 52, right: 18 };

/** @returns null with fewer than two plateaus with this layer */
export function memoryFit(result: Described, layer: string): Chart | null {
  const points = result.memory.plateaus.flatMap(({ connections, [layer]: bytes }) =>
    bytes === undefined ? [] : [{ x: connections, y: bytes / MB }],
  );
  const line = fitLine(points);
  if (!line) return null;
  const { color } = layerStyle(result, layer);
  const last = Math.max(...points.map(({ x }) => x));
  const ends = [0, last].map((x) => [x, line.intercept + line.slope * x]);
  const edge = band(line, last);
  const { plateaus, inService } = result.memory;
  const needed = inService ? inServicePoints({ plateaus, inService }, layer) : [];
  const readout = curvesReadout(
    { ...SIDES, from: 0, to: last },
    [
      { name: 'at rest', color, unit: 'MB', points: inOrder(points) },
      { name: 'line', color, unit: 'MB', points: inOrder(points).map(([x]) => [x, line.intercept + line.slope * x]) },
      ...(needed.length > 0
        ? [
            {
              name: 'in service',
              color,
              unit: 'MB',
              points: inOrder(needed).map(([x, y]): [number, number] => [x, y / MB]),
            },
          ]
        : []),
    ],
    (x) => `${integer(x)} connections`,
  );
  const title = `${layerTitle(result, layer)} against connections`;
  return drawSmall({ title, readout }, 230, {
    grid: { ...SIDES, top: 34, bottom: 44 },
    xAxis: { ...bottomAxis('connections', short), min: 0, max: last, splitNumber: 4 },
    yAxis: { ...valueAxis('MB', short), scale: true, min: floorOf(points) },
    series: [
      polygon(edge, color),
      {
        type: 'line',
        silent: true,
        showSymbol: false,
        data: ends,
        lineStyle: { color, width: LINE_WIDTH },
      },
      ...(needed.length > 0 ? [dashed(needed, color)] : []),
      {
        type: 'scatter',
        silent: true,
        symbolSize: 9,
        data: points.map(({ x, y }) => [x, y]),
        itemStyle: { color: COLORS.page, borderColor: color, borderWidth: 2 },
      },
    ],
  });
}

function dashed(points: Point[], color: string) {
  return {
    type: 'line',
    silent: true,
    showSymbol: false,
    data: inOrder(points).map(([x, y]) => [x, y / MB]),
    lineStyle: { color, width: LINE_WIDTH, type: 'dashed' },
  };
}

function inOrder(points: Point[]): [number, number][] {
  return points.toSorted((a, b) => a.x - b.x).map(({ x, y }) => [x, y]);
}

/** 0 if the smallest value is below half of the largest; otherwise undefined, and the axis starts near the data. */
function floorOf(points: Point[]): number | undefined {
  const values = points.map(({ y }) => y);
  return Math.min(...values) < Math.max(...values) / 2 ? 0 : undefined;
}

/** Outline of the band: its upper edge from left to right, then the lower one back. Empty without an interval. */
function band({ slope, intercept, n, spread }: Line, last: number): Point[] {
  if (spread === null) return [];
  const { residualDeviation, xMean, xSquares } = spread;
  const t = studentT(CONFIDENCE, n - 2);
  const xs = Array.from({ length: BAND_STEPS + 1 }, (_, step) => (last * step) / BAND_STEPS);
  const at = (x: number, side: number) => ({
    x,
    y: intercept + slope * x + side * t * residualDeviation * Math.sqrt(1 / n + (x - xMean) ** 2 / xSquares),
  });
  return [...xs.map((x) => at(x, 1)), ...xs.toReversed().map((x) => at(x, -1))];
}

interface Api {
  coord(point: [number, number]): [number, number];
}

function polygon(outline: Point[], color: string) {
  return {
    type: 'custom',
    silent: true,
    clip: true,
    // So that the axis has room for it.
    data: outline.map(({ x, y }) => [x, y]),
    renderItem: ({ dataIndex }: { dataIndex: number }, api: Api) =>
      dataIndex > 0
        ? undefined
        : {
            type: 'polygon',
            shape: { points: outline.map(({ x, y }) => api.coord([x, y])) },
            style: { fill: color, opacity: 0.16 },
          },
  };
}
