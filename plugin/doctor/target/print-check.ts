/** A check of a target as text. */
import { wrap } from '../../../report/text/format.ts';
import type { TargetCheck } from './target-check.ts';

const STATUS_WIDTH = 8;

/** @param width columns of the terminal */
export function printCheck({ status, tried, found, fix }: TargetCheck, width: number): string {
  const indent = ' '.repeat(STATUS_WIDTH);
  return [
    ...wrap(`${status.padEnd(STATUS_WIDTH)}${tried}: ${found}`, width, indent),
    ...(fix === undefined ? [] : wrap(`${indent}fix: ${fix}`, width, `${indent}  `)),
  ].join('\n');
}
