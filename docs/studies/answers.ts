/** What a study found: for each level, the figures that differ from the first level's by more than the noise. */
import type { Level } from '../../protocol/documents/study.ts';
import { isCounted } from '../../report/figures/figures.ts';
import { questionsOf } from '../../report/study/summarize.ts';
import { decimals } from '../../report/text/format.ts';
import type { MeasuredStudy } from './measured.ts';

const FIGURES_SHOWN = 4;

interface Change {
  path: string;
  title: string;
  /** Difference ÷ the reference, at each setting of the other names where it is beyond the noise. */
  shares: number[];
}

/**
 * @param about name of the setting whose answers come first
 * @returns sentences; none where no figure differs
 */
export function answersOf({ study, runs }: MeasuredStudy, about: string): string[] {
  const questions = questionsOf(study.plan, runs).toSorted(
    (a, b) => Number(b.name === about) - Number(a.name === about),
  );
  return questions.flatMap(({ name, levels, contexts }) => {
    const answers = levels.flatMap((level) => {
      const having = contexts.filter((context) => context.levels.indexOf(level) > 0);
      const changes = changesOf(having, level).toSorted((a, b) => largest(b) - largest(a));
      const [first] = changes;
      if (!first) return [];
      const named = changes.slice(0, FIGURES_SHOWN).map((change) => changeText(change, having.length));
      const rest = changes.length > named.length ? `, and ${changes.length - named.length} more` : '';
      const reference = [...new Set(having.map((context) => String(context.levels[0])))].join(' or ');
      return [{ text: `${levelName(name, level)} instead of ${reference}: ${named.join(', ')}${rest}.`, first }];
    });
    return answers.toSorted((a, b) => largest(b.first) - largest(a.first)).map(({ text }) => text);
  });
}

/** @returns `polling`, `TLS=on`, `workers=2`: a word says by itself what it is */
export function levelName(name: string, level: unknown): string {
  const isWord = /^(?!true|false)[a-z][\w.-]{3,}$/i.test(String(level));
  return isWord ? String(level) : `${name.replace(/^CAPACITY_|^.*\./, '')}=${level}`;
}

type Contexts = ReturnType<typeof questionsOf>[number]['contexts'];

function changesOf(contexts: Contexts, level: Level): Change[] {
  const changes = new Map<string, Change>();
  for (const context of contexts) {
    const index = context.levels.indexOf(level);
    for (const figure of context.comparison.figures) {
      const { answer, share } = figure.differences[index - 1] ?? {};
      if ((answer !== 'better' && answer !== 'worse') || typeof share !== 'number' || isCounted(figure)) continue;
      const change = changes.get(figure.path) ?? { path: figure.path, title: figure.title, shares: [] };
      change.shares.push(share);
      changes.set(figure.path, change);
    }
  }
  return [...changes.values()];
}

/** @returns `nginx PSS per connection +12 to +14 %`, and at how many settings of the others, unless at all */
function changeText({ title, shares }: Change, settings: number): string {
  const [low, high] = [Math.min(...shares), Math.max(...shares)];
  const text = low >= 1 ? times : percent;
  const range = text(low) === text(high) ? text(low) : `${text(low)} to ${text(high)}`;
  const some = shares.length < settings ? ` (${shares.length} of ${settings} settings)` : '';
  return `${title} ${range}${low >= 1 ? ' times' : ' %'}${some}`;
}

function times(share: number): string {
  return decimals(1 + share, 1);
}

function percent(share: number): string {
  return `${share > 0 ? '+' : ''}${decimals(100 * share, 0)}`;
}

function largest({ shares }: Change): number {
  return Math.max(...shares.map(Math.abs));
}
