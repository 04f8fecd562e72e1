/**
 * Chart of a study: the figure that changes most between the levels of a setting, as a multiple of its value at the
 * first level.
 */
import { isCountFigure } from '../figures/figures.ts';
import { levelName } from '../study/study-answers.ts';
import type { StudyContext, StudyQuestion } from '../study/summarize.ts';
import type { Chart } from './chart.ts';
import { CHART_COLORS } from './palette.ts';
import { type ChartCurve, plotChart } from './plot.ts';

const LEVEL_COLORS = [
  CHART_COLORS.blue,
  CHART_COLORS.orange,
  CHART_COLORS.green,
  CHART_COLORS.purple,
  CHART_COLORS.gold,
  CHART_COLORS.red,
];
/**
 * Horizontal distance between two levels (values) of the varied setting. Groups of levels are 1 apart; each group has
 * its own values of the other settings.
 */
const STEP = 0.1;

/**
 * Draws a point with its interval for each level, grouped by the values of the other settings.
 * @returns null if no figure changed
 */
export function studyChangeChart({ name, levels, contexts }: StudyQuestion): Chart | null {
  const changes = contexts.flatMap(({ comparison }) =>
    comparison.figures.flatMap((figure) =>
      isCountFigure(figure) ? [] : figure.differences.map(({ answer, share }) => ({ figure, answer, share })),
    ),
  );
  const [most] = changes
    .filter(({ answer }) => answer === 'better' || answer === 'worse')
    .toSorted((a, b) => Math.abs(b.share ?? 0) - Math.abs(a.share ?? 0));
  if (!most) return null;
  const { path, title } = most.figure;
  const curves = levels.flatMap((level, index): ChartCurve[] => {
    const found = contexts.flatMap((context, at) => {
      const times = timesOf(context, path, context.levels.indexOf(level));
      return times ? [{ x: at + STEP * (index - levels.length / 2), ...times }] : [];
    });
    const color = LEVEL_COLORS[(index - 1) % LEVEL_COLORS.length] as string;
    const ranges = found.flatMap(({ x, low, high }): ChartCurve['points'] => [
      [x, low],
      [x, high],
      [x, Number.NaN],
    ]);
    return [
      { name: '', color, style: 'range', points: ranges },
      {
        name: levelName(name, level),
        color,
        style: 'points',
        symbolSize: 8,
        points: found.map(({ x, times }) => [x, times]),
      },
    ];
  });
  const settings = contexts.map(({ others }) => Object.values(others).join(', '));
  const reference = [...new Set(contexts.map((context) => levelName(name, context.levels[0])))].join(' or ');
  return plotChart({
    title: `${title}: how many times as much as with ${reference}`,
    x: {
      ...{ name: Object.keys(contexts[0]?.others ?? {}).join(', '), from: -0.5, to: contexts.length - 0.5 },
      ticks: () => settings.map((_, at) => at),
      format: (at) => settings[at] ?? '',
      label: (at) => settings[at] ?? '',
    },
    panels: [{ unit: '×, with 95 % intervals', curves, mark: { value: 1, text: reference } }],
    readAt: settings.map((_, at) => at),
  });
}

function timesOf({ comparison }: StudyContext, path: string, index: number) {
  const figure = comparison.figures.find((one) => one.path === path);
  const [reference, difference] = [figure?.spreads[0]?.mean ?? 0, figure?.differences[index - 1]];
  if (reference === 0 || !difference || difference.value === null) return null;
  const { value, low, high } = difference;
  const [times = 0, from = times, to = times] = [value, low ?? value, high ?? value].map((one) => 1 + one / reference);
  return { times, low: Math.max(0, from), high: to };
}
