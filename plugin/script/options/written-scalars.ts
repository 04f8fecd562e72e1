/** Numbers and booleans that arrive as text: Artillery fills a template of `config`, such as `{{ $env.PID }}`, with text. */
import type { z } from 'zod';

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

const NUMBER = /^\s*-?\d+(\.\d+)?\s*$/;

/** @returns the value with each text parsed where the schema accepts only a number or a boolean */
export function withScalars(schema: z.ZodType, value: unknown): unknown {
  const changes = (schema.safeParse(value).error?.issues ?? []).flatMap((issue) => changesFor(issue, [], value));
  return changes.reduce((all, { path, scalar }) => replaced(all, path, scalar), value);
}

function changesFor(issue: Issue, at: Path, root: unknown): { path: Path; scalar: unknown }[] {
  const path = [...at, ...issue.path];
  if (issue.code === 'invalid_union') return issue.errors.flat().flatMap((inner) => changesFor(inner, path, root));
  if (issue.code !== 'invalid_type') return [];
  const text = path.reduce<unknown>((inside, key) => Object(inside)[key], root);
  if (typeof text !== 'string') return [];
  if (/^(number|int)$/.test(issue.expected) && NUMBER.test(text)) return [{ path, scalar: Number(text) }];
  if (issue.expected === 'boolean' && /^(true|false)$/.test(text)) return [{ path, scalar: text === 'true' }];
  return [];
}

function replaced(value: unknown, [key, ...rest]: Path, scalar: unknown): unknown {
  if (key === undefined) return scalar;
  const inside = replaced(Object(value)[key], rest, scalar);
  return Array.isArray(value) ? value.with(Number(key), inside) : { ...(value as object), [key]: inside };
}
