/** Compares selected columns of tables. */
import assert from 'node:assert/strict';

export function column<Row, Key extends keyof Row>(rows: readonly Row[], key: Key): Row[Key][];
export function column<Row, Key extends keyof Row>(rows: readonly Row[] | undefined, key: Key): Row[Key][] | undefined;
export function column<Row, Key extends keyof Row>(rows: readonly Row[] | undefined, key: Key): Row[Key][] | undefined {
  return rows?.map((row) => row[key]);
}

/** @returns the values of each key over all rows */
export function columns<Row, Key extends keyof Row>(rows: readonly Row[] | undefined, ...keys: Key[]): object {
  return Object.fromEntries(keys.map((key) => [key, column(rows, key)]));
}

/** Asserts the expected value of a part of each row, in order. */
export function assertEach<Row>(
  rows: readonly Row[] | undefined,
  partOf: (row: Row, index: number) => unknown,
  expected: readonly unknown[],
  message?: string,
): void {
  assert.deepEqual(rows?.map(partOf), expected, message);
}
