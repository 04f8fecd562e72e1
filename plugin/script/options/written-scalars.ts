/**
 * Converts texts in options to numbers, booleans and durations. Artillery fills templates such as `{{ $env.PID }}` with
 * text.
 */
import type { z } from 'zod';
import { isTemplate } from '../is-template.ts';

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

interface Text {
  path: Path;
  text: string;
  isNumber: boolean;
}

const NUMBER = /^\s*-?\d+(\.\d+)?\s*$/;
const asWritten = (text: string) => text;

/**
 * Converts each text in a value to a number or a boolean, if the schema accepts no text there.
 * @param fill fills the templates of a text; templates without a value stay unchanged
 */
export function parseWrittenScalars(schema: z.ZodType, value: unknown, fill = asWritten): unknown {
  return textsOf(schema, value).reduce((all, { path, text, isNumber }) => {
    const scalar = scalarOf(fill(text), isNumber);
    return scalar === text ? all : replaced(all, path, scalar);
  }, value);
}

/** Returns the paths of templates in places where the schema accepts no text. */
export function templatePaths(schema: z.ZodType, value: unknown): Path[] {
  return textsOf(schema, value).flatMap(({ path, text }) => (isTemplate(text) ? [path] : []));
}

function textsOf(schema: z.ZodType, value: unknown): Text[] {
  return (schema.safeParse(value).error?.issues ?? []).flatMap((issue) => textsAt(issue, [], value));
}

function textsAt(issue: Issue, at: Path, root: unknown): Text[] {
  const path = [...at, ...issue.path];
  if (issue.code === 'invalid_union') return issue.errors.flat().flatMap((inner) => textsAt(inner, path, root));
  const text = path.reduce<unknown>((inside, key) => Object(inside)[key], root);
  if (typeof text !== 'string') return [];
  const isNumber = issue.code === 'invalid_type' && /^(number|int)$/.test(issue.expected);
  const isBoolean =
    (issue.code === 'invalid_type' && issue.expected === 'boolean') ||
    (issue.code === 'invalid_value' && issue.values.includes(true));
  return isNumber || isBoolean ? [{ path, text, isNumber }] : [];
}

function scalarOf(text: string, isNumber: boolean): unknown {
  if (isNumber) return NUMBER.test(text) ? Number(text) : text;
  return /^(true|false)$/.test(text) ? text === 'true' : text;
}

function replaced(value: unknown, [key, ...rest]: Path, scalar: unknown): unknown {
  if (key === undefined) return scalar;
  const inside = replaced(Object(value)[key], rest, scalar);
  return Array.isArray(value) ? value.with(Number(key), inside) : { ...(value as object), [key]: inside };
}
