/** One check of a target: what was tried, what was found, and how to mend it. */
import type { LookupAddress } from 'node:dns';
import type { OwnClients } from '../../run/receivers/own-clients.ts';
import type { ConnectionTarget } from '../../script/connection-target.ts';
import type { TargetCheckName } from '../checks.ts';

export interface TargetCheck {
  name: TargetCheckName;
  /** `failed`: a run would be refused, lose connections, or measure something else. `skipped`: nothing to be tried. */
  status: 'ok' | 'warning' | 'failed' | 'skipped';
  tried: string;
  found: string;
  fix?: string;
}

/** What is checked, as a run would connect to it. */
export interface Subject {
  connection: ConnectionTarget;
  /** Who comes by the flow. */
  clients: Pick<OwnClients, 'next' | 'areUsers'>;
  /** Of the target's name. */
  addresses: LookupAddress[];
  signal: AbortSignal;
}

/** For a connection to be made, or a request to be answered. */
export const TIMEOUT_MS = 10_000;

/** @returns `10.0.0.5:443` */
export function placeOf(url: URL, { address, family }: LookupAddress): string {
  return `${family === 6 ? `[${address}]` : address}:${portOf(url)}`;
}

export function portOf({ port, protocol }: URL): number {
  return Number(port) || (/^(https|wss):$/.test(protocol) ? 443 : 80);
}
