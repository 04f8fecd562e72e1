/** Returns whether the value contains, at any depth, a template that is filled in for each virtual user. */
export function isTemplate(value: unknown): boolean {
  return JSON.stringify(value)?.includes('{{') ?? false;
}
