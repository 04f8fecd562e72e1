/** Returns whether the value contains a template at any depth. Artillery fills templates for each virtual user. */
export function isTemplate(value: unknown): boolean {
  return JSON.stringify(value)?.includes('{{') ?? false;
}
