/** The numbers of the result document, as a condition names them. */
import type { z } from 'zod';
import { resultSchema } from '../../protocol/result/result.ts';

/** Stands for any name, such as that of a layer. */
const ANY = '<name>';

interface Def {
  type: string;
  shape?: Record<string, z.ZodType>;
  innerType?: z.ZodType;
  valueType?: z.ZodType;
}

/** @returns dotted keys of all numbers that are not in lists: `cpu.<name>.idlePercent` */
export function numericKeys(): string[] {
  return walk(resultSchema, []).filter((key) => !key.startsWith('schemaVersion') && !key.includes(`${ANY}.${ANY}`));
}

/** @returns whether the key is one of these, with any name for `<name>` */
export function isNumericKey(key: string, keys: string[]): boolean {
  const parts = key.split('.');
  return keys.some((known) => {
    const own = known.split('.');
    return (
      own.length === parts.length && own.every((part, index) => part === parts[index] || (part === ANY && parts[index]))
    );
  });
}

function walk(schema: z.ZodType, at: string[]): string[] {
  const { type, shape, innerType, valueType } = schema._zod.def as unknown as Def;
  if (type === 'number') return [at.join('.')];
  if (shape) return Object.entries(shape).flatMap(([key, value]) => walk(value, [...at, key]));
  if (valueType) return walk(valueType, [...at, ANY]);
  return innerType ? walk(innerType, at) : [];
}
