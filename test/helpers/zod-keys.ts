/** Walks a zod schema for the keys that its input may have. */
import { z } from 'zod';

interface Def {
  type: string;
  shape?: Record<string, z.ZodType>;
  innerType?: z.ZodType;
  element?: z.ZodType;
  in?: z.ZodType;
  options?: z.ZodType[];
  items?: z.ZodType[];
  valueType?: z.ZodType;
}

/**
 * @returns dotted paths of all keys, each parent before its children: `delivery`, `delivery.batches`,
 *   `delivery.batches.seq`. Lists, unions, optionals and records add nothing to a path.
 */
export function keyPaths(schema: z.ZodType): string[] {
  return [...new Set(walk(schema, ''))];
}

function walk(schema: z.ZodType, at: string): string[] {
  const { shape, innerType, element, in: input, options, items, valueType } = schema._zod.def as unknown as Def;
  const keys = Object.entries(shape ?? {}).flatMap(([key, value]) => {
    const path = at === '' ? key : `${at}.${key}`;
    return [path, ...walk(value, path)];
  });
  const inside = [innerType, element, input, valueType, ...(options ?? []), ...(items ?? [])];
  return [...keys, ...inside.flatMap((one) => (one instanceof z.ZodType ? walk(one, at) : []))];
}
