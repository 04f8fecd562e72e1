/** @returns a number of connections that would tell, to one digit, since it is an estimate */
export function roundUp(connections: number): number {
  const digit = 10 ** Math.floor(Math.log10(connections));
  return Math.ceil(connections / digit) * digit;
}
