/** Bounds what a server may nest: everything that copies or compares such data later recurses into it. */

const MAX_LEVELS = 200;

/** @throws Error for what nobody could copy */
export function requireShallow(data: unknown): void {
  if (nestsDeeper(data)) throw new Error('data that is nested too deeply');
}

/** Whether arrays and objects in `value`, of decoded JSON, nest more than `levels` deep. */
export function nestsDeeper(value: unknown, levels = MAX_LEVELS): boolean {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return false;
  if (levels === 0) return true;
  for (const key in value) if (nestsDeeper((value as Record<string, unknown>)[key], levels - 1)) return true;
  return false;
}
