/** Tables of packages and functions. The rows of packages add up to the whole. */
import { placesChart } from '../charts/places-chart.ts';
import type { PlaceSize, Places } from '../figures/places.ts';
import { amount, quantityOf } from '../model/amount.ts';
import { type Block, type Cell, drawing, grid } from '../model/document.ts';

export function placesBlocks(places: Places): Block[] {
  const { subject, unit, quantity, packages, functions, together, unattributed } = places;
  const sized = ({ value, halfWidth95 }: PlaceSize) =>
    amount(quantity, value, { low95: value - halfWidth95, high95: value + halfWidth95 });
  const per = `${quantityOf(quantity).unit} per ${unit}`;
  return [
    drawing(placesChart(places), ''),
    grid(
      `${subject}, by package`,
      ['Package', per],
      [
        ...packages.map((one): Cell[] => [one.name, sized(one)]),
        ['not attributed', amount(quantity, unattributed)],
        ['together', amount(quantity, together)],
      ],
    ),
    grid(
      `${subject}, by function`,
      ['Function', 'Begins at', per],
      functions.map((one): Cell[] => [one.name, one.place, sized(one)]),
    ),
  ];
}
