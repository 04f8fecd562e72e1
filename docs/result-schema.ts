/**
 * The JSON Schema of result.json, for people who script. After a change of the result document:
 * node docs/result-schema.ts
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { resultSchema } from '../protocol/result/result.ts';

export const RESULT_SCHEMA = join(import.meta.dirname, 'public/result.schema.json');

/** @returns what older results meet, too, and newer ones, which may have further keys */
export function resultJsonSchema(): object {
  const schema = z.toJSONSchema(resultSchema, {
    io: 'input',
    override: ({ jsonSchema }) => {
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
    },
  });
  return { title: 'result.json of socketio-capacity', ...schema };
}

if (import.meta.main) writeFileSync(RESULT_SCHEMA, `${JSON.stringify(resultJsonSchema(), null, 2)}\n`);
