/** Creates a document that a zod schema accepts. The caller chooses the text of every string. */
import type { z } from 'zod';

interface Def {
  type: string;
  shape?: Record<string, z.ZodType>;
  catchall?: z.ZodType;
  innerType?: z.ZodType;
  options?: z.ZodType[];
  element?: z.ZodType;
  valueType?: z.ZodType;
  entries?: Record<string, string>;
  values?: unknown[];
}

/** @param text called with the path of each string and each free key */
export function sample(schema: z.ZodType, text: (path: string) => string, at = ''): unknown {
  const def = schema._zod.def as unknown as Def;
  const inside = (inner: z.ZodType | undefined, key: string) => sample(inner as z.ZodType, text, `${at}.${key}`);
  switch (def.type) {
    case 'object': {
      const keys = Object.entries(def.shape ?? {}).map(([key, inner]) => [key, inside(inner, key)]);
      const free = def.catchall && def.catchall._zod.def.type !== 'never';
      return Object.fromEntries([...keys, ...(free ? [[text(`${at}.<key>`), inside(def.catchall, '*')]] : [])]);
    }
    case 'record':
      return { [text(`${at}.<key>`)]: inside(def.valueType, '*') };
    case 'array':
      return [inside(def.element, '0'), inside(def.element, '1')];
    case 'union':
      return sample(def.options?.[0] as z.ZodType, text, at);
    case 'nullable':
    case 'optional':
    case 'default':
      return sample(def.innerType as z.ZodType, text, at);
    case 'enum':
      return Object.values(def.entries ?? {})[0];
    case 'literal':
      return def.values?.[0];
    case 'boolean':
      return true;
    case 'number':
      return 1;
    case 'string':
    case 'unknown':
      return text(at);
    default:
      throw new Error(`${at}: no sample of a ${def.type}`);
  }
}
