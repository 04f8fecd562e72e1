/** @returns whether the value, at whatever depth, has a template that is filled in for each virtual user */
export function isTemplate(value: unknown): boolean {
  return JSON.stringify(value)?.includes('{{') ?? false;
}
