/** Writes the reference documentation and the JSON Schema of result.json (`npm run docs:reference`). */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { resultSchema } from '../../protocol/result/result.ts';
import { MARK, PAGES } from './pages.ts';

/** Returns the content of each page by its path. The handwritten introduction of a page is kept. */
export function referencePages(): Map<string, string> {
  return new Map(
    Object.entries(PAGES).map(([name, generated]) => {
      const path = join(import.meta.dirname, `${name}.md`);
      const [introduction = ''] = existsSync(path) ? readFileSync(path, 'utf8').split(MARK) : [];
      return [path, `${introduction}${MARK}\n\n${generated().join('\n\n')}\n`];
    }),
  );
}

export const RESULT_SCHEMA = join(import.meta.dirname, '../public/result.schema.json');

/** Returns the JSON Schema of results. It permits additional keys, so that newer results are also valid. */
export function resultJsonSchema(): object {
  const schema = z.toJSONSchema(resultSchema, {
    io: 'input',
    override: ({ jsonSchema }) => {
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
      // Removes the links, because they are relative to a page.
      jsonSchema.description &&= jsonSchema.description.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1');
    },
  });
  return { title: 'result.json of socketio-capacity', ...schema };
}

if (import.meta.main) {
  for (const [path, page] of referencePages()) writeFileSync(path, page);
  writeFileSync(RESULT_SCHEMA, `${JSON.stringify(resultJsonSchema(), null, 2)}\n`);
}
