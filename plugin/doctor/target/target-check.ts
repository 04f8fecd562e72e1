/** Result of one check of a target: what was tested, what was found, and the suggested fix. */
import type { LookupAddress } from 'node:dns';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import { wrapText } from '../../../report/text/format.ts';
import type { RunClients } from '../../run/receivers/run-clients.ts';
import { tlsProblem } from '../../run/receivers/target-problem.ts';
import { portOfUrl } from '../../run/target/target-listeners.ts';
import type { ConnectionTarget } from '../../script/connection-target.ts';
import type { TargetCheckName } from '../doctor-checks.ts';

export interface TargetFinding {
  /**
   * `failed`: a run would be refused, lose connections, or measure the wrong thing. `skipped`: the check does not
   * apply, or was stopped.
   */
  status: 'ok' | 'warning' | 'failed' | 'skipped';
  found: string;
  fix?: string;
}

export interface TargetCheck extends TargetFinding {
  name: TargetCheckName;
  tried: string;
}

/** The target, and the options with which a run would connect to it. */
export interface ExaminedTarget {
  connection: ConnectionTarget;
  /** Clients that connect by the scenario's flow. */
  clients: Pick<RunClients, 'next' | 'nextTemporary' | 'areUsers'>;
  /** Addresses of the target's host name. */
  addresses: LookupAddress[];
  signal: AbortSignal;
}

/** Timeout of a connect or a request, in milliseconds. */
export const TARGET_TIMEOUT_MS = 10_000;

/**
 * Runs a check. If the check throws an error, its status is `failed`.
 * @param usualFix fix for errors that suggest none
 */
export async function runTargetCheck(
  name: TargetCheckName,
  tried: string,
  examine: () => Promise<TargetFinding>,
  usualFix = 'start the server or its proxy, let this machine reach it, or correct the target',
): Promise<TargetCheck> {
  try {
    return { name, tried, ...(await examine()) };
  } catch (error) {
    if (error instanceof CapacityError) {
      return { name, tried, status: 'failed', found: error.message, fix: error.fix ?? usualFix };
    }
    const { code, message } = error as NodeJS.ErrnoException;
    const { found, fix } = tlsProblem(error) ?? { found: code ?? message, fix: usualFix };
    return { name, tried, status: 'failed', found, fix };
  }
}

const STATUS_WIDTH = 8;

export function printTargetCheck({ status, tried, found, fix }: TargetCheck, width: number): string {
  const indent = ' '.repeat(STATUS_WIDTH);
  return [
    ...wrapText(`${status.padEnd(STATUS_WIDTH)}${tried}: ${found}`, width, indent),
    ...(fix === undefined ? [] : wrapText(`${indent}fix: ${fix}`, width, `${indent}  `)),
  ].join('\n');
}

/** Returns the text of an address, such as `10.0.0.5:443`. */
export function addressText(url: URL, { address, family }: LookupAddress): string {
  return `${family === 6 ? `[${address}]` : address}:${portOfUrl(url.href)}`;
}
