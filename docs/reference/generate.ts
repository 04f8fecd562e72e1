/** Writes the reference and the JSON Schema of result.json: npm run docs:reference */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { resultSchema } from '../../protocol/result/result.ts';
import { MARK, PAGES } from './pages.ts';

/** Returns path → content of each page, keeping its handwritten introduction. */
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

/** Returns a schema that accepts additional keys, so that newer results are valid, too. */
export function resultJsonSchema(): object {
  const schema = z.toJSONSchema(resultSchema, {
    io: 'input',
    override: ({ jsonSchema }) => {
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
      // The links are relative to the page.
      jsonSchema.description &&= jsonSchema.description.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1');
    },
  });
  return { title: 'result.json of socketio-capacity', ...schema };
}

if (import.meta.main) {
  for (const [path, page] of referencePages()) writeFileSync(path, page);
  writeFileSync(RESULT_SCHEMA, `${JSON.stringify(resultJsonSchema(), null, 2)}\n`);
}
