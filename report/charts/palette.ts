/** Colours of charts, as CSS variables, which `report/render/style.ts` sets for the light and the dark mode. */
import type { LayerDescription } from '../../protocol/result/memory-schema.ts';
import { type DescribedLayers, layerFamily } from '../figures/layers.ts';

/** Palette of Okabe and Ito, distinguishable with any colour vision. */
export const CHART_COLORS = {
  blue: 'var(--blue)',
  orange: 'var(--orange)',
  green: 'var(--green)',
  purple: 'var(--purple)',
  gold: 'var(--gold)',
  red: 'var(--red)',
  grey: 'var(--grey)',
  text: 'var(--text)',
  muted: 'var(--muted)',
  line: 'var(--line)',
  band: 'var(--band)',
  strongBand: 'var(--strong-band)',
  page: 'var(--page)',
};

export type LineDash = 'solid' | 'dashed' | 'dotted';

/** Colour of each layer of the deployment. The load generator is grey. */
const STYLES: Record<LayerDescription['belongsTo'], { colors: string[]; dashes: LineDash[] }> = {
  deployment: {
    colors: [CHART_COLORS.blue, CHART_COLORS.orange, CHART_COLORS.purple, CHART_COLORS.gold, CHART_COLORS.red],
    dashes: ['solid', 'dashed', 'dotted'],
  },
  generator: { colors: [CHART_COLORS.grey], dashes: ['dashed', 'dotted'] },
  machine: { colors: [CHART_COLORS.green, CHART_COLORS.text], dashes: ['dotted'] },
};

/**
 * Returns the style of a layer. The next layer gets the next colour; when all colours are used, they are repeated with
 * a different dash.
 * @param id id of a memory figure (`workerPss`) or a CPU layer (`worker`); figures of the same processes share a style
 */
export function layerStyle(result: DescribedLayers, id: string): { color: string; dash: LineDash } {
  const layers = result.memory.layers;
  const belongsTo = layers.find((layer) => layer.id === id)?.belongsTo;
  if (belongsTo === undefined) return { color: CHART_COLORS.grey, dash: 'solid' };
  const { colors, dashes } = STYLES[belongsTo];
  const families = new Set(
    layers.filter((layer) => layer.belongsTo === belongsTo).map((layer) => layerFamily(layer.id)),
  );
  const index = [...families].indexOf(layerFamily(id));
  return {
    color: colors[index % colors.length] as string,
    dash: dashes[Math.floor(index / colors.length) % dashes.length] as LineDash,
  };
}
