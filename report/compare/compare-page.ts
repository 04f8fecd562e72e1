/** Builds the report of a comparison. */
import {
  type AnswerTone,
  figuresTable,
  linesBlock,
  type ReportDocument,
  type ReportSection,
} from '../model/document.ts';
import type { Comparison } from './compare.ts';
import type { DifferenceAnswer } from './decide.ts';
import { detectableText } from './detectable.ts';
import { comparedTable, comparisonHeadline, describeSet, mismatchLines, setLetter, tableNotes } from './text.ts';

const TONES: Record<DifferenceAnswer, AnswerTone> = {
  worse: 'bad',
  better: 'good',
  inconclusive: 'doubt',
  'no-difference': 'plain',
};

/** Returns the report of a comparison: better figures, worse figures, and differing conditions. */
export function comparisonDocument(comparison: Comparison): ReportDocument {
  const { sets, mismatches, figures, places } = comparison;
  const others = [...sets.keys()].slice(1);
  const headlines = others.map((index) => ({ index, ...comparisonHeadline(comparison, index) }));
  const [first = '', ...rest] = headlines.map(({ index, text }) => `${setLetter(index)} against A: ${text}`);
  const worst = (['worse', 'inconclusive', 'better'] as const).find((one) =>
    headlines.some(({ answer }) => answer === one),
  );
  return {
    title: 'Comparison',
    subtitle: sets.map((set, index) => `${setLetter(index)}: ${set.name}`).join(' · '),
    answer: {
      tone: TONES[worst ?? 'no-difference'],
      title: first,
      lines: [
        ...rest,
        ...others.flatMap((index) => {
          const text = detectableText(comparison, index);
          return text === undefined ? [] : [`${setLetter(index)} against A ${text}`];
        }),
        ...others.flatMap((index) => (places[index - 1] ?? []).map((text) => `${setLetter(index)} against A, ${text}`)),
        ...sets.map((set, index) => `${setLetter(index)}: ${describeSet(set)}`),
        ...mismatchLines(mismatches),
      ],
      findings: [],
      causes: [],
      lead: 'lines',
    },
    sections: [
      ...others.map((index): ReportSection => {
        const title = `${setLetter(index)} against A`;
        const table = comparedTable(title, figures, index, ['A', setLetter(index)]);
        return { id: `set-${setLetter(index)}`, title, blocks: [table, linesBlock('note', tableNotes(comparison))] };
      }),
      ...differing(comparison),
    ],
  };
}

function differing({ sets, mismatches }: Comparison): ReportSection[] {
  if (mismatches.length === 0) return [];
  const head = ['Condition', 'Kind', ...sets.map((_, index) => setLetter(index))];
  // Shortens a long value to the width of a column.
  const shortened = (value: string) => (value.length > 24 ? `${value.slice(0, 23)}…` : value);
  const rows = mismatches.map(({ aspect, name, values }) => [name, aspect, ...values.map(shortened)]);
  return [
    {
      id: 'differing',
      title: 'Different conditions',
      lead: 'If the load or the machine differs, that is the most likely reason for any difference between the figures.',
      blocks: [figuresTable('Different conditions', head, rows)],
    },
  ];
}
