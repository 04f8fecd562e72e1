/** Reads conditions on a result, as they are typed. */
import { COMPARISONS, type Condition, conditionSchema } from '../../protocol/documents/search.ts';
import { didYouMean, type Problem } from '../../protocol/problems.ts';
import { isNumericKey, numericKeys } from '../../report/conditions/keys.ts';

const FORM = new RegExp(`^\\s*(\\S.*?)\\s*(${COMPARISONS.join('|')})\\s*(-?[\\d.]+(?:e\\d+)?)\\s*$`);

/**
 * @param option what stands before the condition in the path of a problem: `--until `
 * @returns the conditions that are right, and the problems of the others
 */
export function parseConditions(texts: string[], option = ''): { conditions: Condition[]; problems: Problem[] } {
  const keys = numericKeys();
  const conditions: Condition[] = [];
  const problems: Problem[] = [];
  for (const text of texts) {
    const [, key, comparison, value] = FORM.exec(text) ?? [];
    const { data } = conditionSchema.safeParse({ key, comparison, value: Number(value) });
    const path = `${option}"${text}"`;
    if (!data) {
      const message = 'expected a key of the result, a comparison and a number: "delivery.coverage < 1"';
      problems.push({ path, message });
    } else if (!isNumericKey(data.key, keys)) {
      problems.push({ path, message: `the result has no number "${data.key}"${hint(data.key, keys)}` });
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
