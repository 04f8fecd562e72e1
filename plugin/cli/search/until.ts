/** Reads the conditions of `--until`. */
import { didYouMean, type Problem } from '../../../protocol/problems.ts';
import { COMPARISONS, type Condition, conditionSchema } from '../../../protocol/search.ts';
import { isNumericKey, numericKeys } from '../../../report/search/keys.ts';

const FORM = new RegExp(`^\\s*(\\S.*?)\\s*(${COMPARISONS.join('|')})\\s*(-?[\\d.]+(?:e\\d+)?)\\s*$`);

/** @returns the conditions that are right, and the problems of the others */
export function parseUntil(texts: string[]): { conditions: Condition[]; problems: Problem[] } {
  const keys = numericKeys();
  const conditions: Condition[] = [];
  const problems: Problem[] = [];
  for (const text of texts) {
    const [, key, comparison, value] = FORM.exec(text) ?? [];
    const { data } = conditionSchema.safeParse({ key, comparison, value: Number(value) });
    if (!data) {
      problems.push(problem(text, 'expected a key of the result, a comparison and a number: "delivery.coverage < 1"'));
    } else if (!isNumericKey(data.key, keys)) {
      problems.push(problem(text, `the result has no number "${data.key}"${hint(data.key, keys)}`));
    } else {
      conditions.push(data);
    }
  }
  return { conditions, problems };
}

/** Some leave out the section: `coverage`. */
function hint(key: string, keys: string[]): string {
  const ending = keys.find((known) => known.endsWith(`.${key}`));
  return ending === undefined ? didYouMean(key, keys) : `, did you mean "${ending}"?`;
}

function problem(text: string, message: string): Problem {
  return { path: `--until "${text}"`, message };
}
