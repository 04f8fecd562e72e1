import type { Helpers, UserContext } from './types.ts';

export type Template = (context: UserContext) => unknown;

/**
 * Artillery's template, decided once: it clones and walks its argument on every call, so a value without `{{` is
 * returned as it is, shared by all virtual users.
 */
export function compileTemplate(value: unknown, helpers: Helpers): Template {
  if (!isTemplate(value)) return () => value;
  return (context) => helpers.template(value, context);
}

export function isTemplate(value: unknown): boolean {
  return JSON.stringify(value)?.includes('{{') ?? false;
}
