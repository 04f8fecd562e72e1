/** Section on expectations and thresholds, with the measured values. */
import type { Result } from '../../protocol/result/result.ts';
import { grid, type Section } from '../model/document.ts';

/** Null without any that can be judged. */
export function thresholds(result: Result): Section | null {
  const { thresholds: judged } = result.outcome;
  if (judged.length === 0) return null;
  return {
    id: 'thresholds',
    title: 'Thresholds',
    folded: true,
    blocks: [
      grid(
        'Thresholds',
        ['What was asked', 'Answer', 'What was found'],
        judged.map(({ name, text, met, strict }) => [
          name,
          `${met ? 'met' : 'MISSED'}${strict ? '' : ' (optional)'}`,
          text,
        ]),
      ),
    ],
  };
}
