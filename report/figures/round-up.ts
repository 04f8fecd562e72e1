/** Rounds an estimated number of connections up to one significant digit. */
export function roundUp(connections: number): number {
  const digit = 10 ** Math.floor(Math.log10(connections));
  return Math.ceil(connections / digit) * digit;
}
