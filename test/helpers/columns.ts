/** Columns of tables, to compare selected values of all rows. */
import assert from 'node:assert/strict';

export function column<Row, Key extends keyof Row>(rows: readonly Row[], key: Key): Row[Key][];
export function column<Row, Key extends keyof Row>(rows: readonly Row[] | undefined, key: Key): Row[Key][] | undefined;
export function column<Row, Key extends keyof Row>(rows: readonly Row[] | undefined, key: Key): Row[Key][] | undefined {
  return rows?.map((row) => row[key]);
}

/** @returns for each key, its values in all rows */
export function columns<Row, Key extends keyof Row>(rows: readonly Row[] | undefined, ...keys: Key[]): object {
  return Object.fromEntries(keys.map((key) => [key, column(rows, key)]));
}

/** Asserts that this part of each row is as expected, in order. */
export function assertEach<Row>(
  rows: readonly Row[] | undefined,
  partOf: (row: Row, index: number) => unknown,
  expected: readonly unknown[],
  message?: string,
): void {
  assert.deepEqual(rows?.map(partOf), expected, message);
}
