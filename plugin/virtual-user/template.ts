import { isTemplate } from '../script/is-template.ts';
import type { Helpers, UserContext } from './user-types.ts';

export type Template = (context: UserContext) => unknown;

/**
 * Compiles a value with templates. Artillery's template function clones and walks its argument on every call, so a value
 * without `{{` skips it, and all virtual users share that value.
 */
export function compileTemplate(value: unknown, helpers: Helpers): Template {
  if (!isTemplate(value)) return () => value;
  return (context) => helpers.template(value, context);
}
