import { isTemplate } from '../script/is-template.ts';
import type { ArtilleryHelpers, UserContext } from './user-types.ts';

export type Template = (context: UserContext) => unknown;

/**
 * Compiles a value with templates. Artillery's template function copies its argument on every call. A value without
 * `{{` is used as it stands, and all virtual users share it.
 */
export function compileTemplate(value: unknown, helpers: ArtilleryHelpers): Template {
  if (!isTemplate(value)) return () => value;
  return (context) => helpers.template(value, context);
}
