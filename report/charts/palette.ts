/** Colours of charts, by what they stand for. They are CSS variables, which `report/html/style.ts` sets for light and dark. */

export const FONT = 'system-ui, sans-serif';

/** After Okabe and Ito: told apart by everybody. */
export const COLORS = {
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

/** The deployment's layers have colours; the generator, which is not measured, is grey. */
const LAYER_COLORS: [prefix: string, color: string][] = [
  ['worker', COLORS.blue],
  ['nginx', COLORS.orange],
  ['redis', COLORS.purple],
  ['kernel', COLORS.green],
  ['pm2', COLORS.gold],
  ['system', COLORS.text],
];

/** @param layer of memory (`workerPss`) or of CPU (`worker`) */
export function layerColor(layer: string): string {
  return LAYER_COLORS.find(([prefix]) => layer.startsWith(prefix))?.[1] ?? COLORS.grey;
}
