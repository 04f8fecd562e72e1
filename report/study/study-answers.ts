/**
 * Describes the effect of each level (value of a setting) in a study: the figures that differ significantly from the
 * first level.
 */
import type { StudyLevel } from '../../protocol/documents/study-schema.ts';
import { comparisonHeadline, inconclusiveTexts, percentText } from '../compare/text.ts';
import { isCountFigure } from '../figures/figures.ts';
import { decimalsText } from '../text/format.ts';
import type { StudyContext, StudyQuestion } from './summarize.ts';

const FIGURES_SHOWN = 4;
/** Keys of figures that are always listed, even if they did not change. */
const ALWAYS_LISTED = ['connections.held', 'delivery.coverage', 'memory.perConnection.bytes'];

interface Change {
  title: string;
  /**
   * Relative difference from the first level (value of the setting), for each combination of the other settings with a
   * significant difference. Null for counts.
   */
  shares: (number | null)[];
}

/** Returns one sentence for each level after the first, over all combinations of the other settings. */
export function studyAnswers({ name, levels, contexts }: StudyQuestion): string[] {
  return levels.flatMap((level) => {
    const having = contexts.filter((context) => context.levels.indexOf(level) > 0);
    if (having.length === 0) return [];
    const reference = [...new Set(having.map((context) => levelText(context.levels[0])))].join(' or ');
    const headlines = having.map(({ comparison, levels: own }) => {
      const nameOf = (side: number) => levelName(name, own[side]);
      return comparisonHeadline(comparison, own.indexOf(level), nameOf);
    });
    const unsure = Map.groupBy(
      headlines.flatMap((headline) => headline.unsure),
      (text) => text,
    );
    const found = [
      ...changesText(having, level),
      ...[...unsure].map(([text, { length }]) => text + atSome(length, having.length)),
      ...inconclusiveTexts(
        headlines.flatMap(({ open }) => open.filter(({ title }) => !isChanged(title, having, level))),
      ),
    ];
    const same = sameText(having, level);
    const answer = [...(found.length > 0 ? found : ['no difference']), ...same].join('; ');
    return [`${levelName(name, level)} instead of ${reference}: ${answer}`];
  });
}

/**
 * Returns the name of a level (value of a setting), such as `polling`, `TLS=on` or `workers=2`. A level that is a word
 * needs no name of the setting.
 */
export function levelName(name: string, level: unknown): string {
  const text = levelText(level);
  const isWord = /^(?!true|false)[a-z][\w.-]{3,}$/i.test(text);
  return isWord ? text : `${name.replace(/^CAPACITY_|^.*\./, '')}=${text}`;
}

/** Returns the text of a level (value of a setting). For a scenario, this is its file name without the folder. */
function levelText(level: unknown): string {
  return String(level).replace(/^(?:.*\/)?([^/]+)\.ya?ml$/, '$1');
}

/** Returns whether the figure is better or worse at any combination of the other settings. */
function isChanged(title: string, contexts: StudyContext[], level: StudyLevel): boolean {
  return contexts.some(({ levels, comparison }) =>
    comparison.figures.some((figure) => {
      const { answer } = figure.differences[levels.indexOf(level) - 1] ?? {};
      return figure.title === title && (answer === 'better' || answer === 'worse');
    }),
  );
}

/** Lists the figures that changed at a level, the largest change first. */
function changesText(contexts: StudyContext[], level: StudyLevel): string[] {
  const changes = new Map<string, Change>();
  for (const { levels, comparison } of contexts) {
    for (const figure of comparison.figures) {
      const { answer, share } = figure.differences[levels.indexOf(level) - 1] ?? {};
      if (answer !== 'better' && answer !== 'worse') continue;
      const title = isCountFigure(figure) ? `${figure.title} ${answer}` : figure.title;
      const { shares } = changes.get(title) ?? { shares: [] };
      changes.set(title, { title, shares: [...shares, isCountFigure(figure) ? null : (share ?? null)] });
    }
  }
  const all = [...changes.values()].toSorted((a, b) => largest(b) - largest(a));
  const named = all.slice(0, FIGURES_SHOWN).map((change) => changeText(change, contexts.length));
  const rest = all.length > named.length ? [`${all.length - named.length} more`] : [];
  return named.length === 0 ? [] : [[...named, ...rest].join(', ')];
}

/**
 * Returns a text such as `the same: Delivered, Memory per connection (within 2 %)` for figures that are equal at all
 * combinations of the other settings.
 */
function sameText(contexts: StudyContext[], level: StudyLevel): string[] {
  const same = ALWAYS_LISTED.flatMap((path) => {
    const found = contexts.flatMap(({ levels, comparison }) =>
      comparison.figures
        .filter((figure) => figure.path === path)
        .map((figure) => ({ ...figure, difference: figure.differences[levels.indexOf(level) - 1] })),
    );
    const [figure] = found;
    const isSame = found.every(({ difference }) => difference?.answer === 'no-difference');
    if (!figure || !isSame || found.length < contexts.length) return [];
    const shares = found.map(({ spreads, difference }) => {
      const farthest = Math.max(...[difference?.low, difference?.high].map((end) => Math.abs(end ?? 0)));
      return farthest / Math.abs(spreads[0]?.mean || 1);
    });
    return [isCountFigure(figure) ? figure.title : `${figure.title} (within ${percentText(Math.max(...shares))} %)`];
  });
  return same.length === 0 ? [] : [`the same: ${same.join(', ')}`];
}

/**
 * Returns a text such as `nginx PSS per connection +12 to +14 %`. The number of combinations is added unless the change
 * occurs in all of them.
 */
function changeText({ title, shares }: Change, settings: number): string {
  const known = shares.filter((share) => share !== null);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const text = low >= 1 ? times : percent;
  const range = text(low) === text(high) ? text(low) : `${text(low)} to ${text(high)}`;
  const size = known.length === 0 ? '' : ` ${range}${low >= 1 ? ' times' : ' %'}`;
  return title + size + atSome(shares.length, settings);
}

function atSome(count: number, settings: number): string {
  return count < settings ? ` (${count} of ${settings} settings)` : '';
}

function times(share: number): string {
  return decimalsText(1 + share, 1);
}

function percent(share: number): string {
  return `${share > 0 ? '+' : ''}${decimalsText(100 * share, 0)}`;
}

/** Returns a number by which changes are sorted. Changes in lost connections and copies come before changes of cost. */
function largest({ shares }: Change): number {
  return Math.max(...shares.map((share) => Math.abs(share ?? Number.POSITIVE_INFINITY)));
}
