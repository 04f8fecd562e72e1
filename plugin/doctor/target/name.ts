/** The target's name: connections go to all of its addresses, so each has to answer, and ports are counted for each. */
import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { TargetCheck } from './target-check.ts';

/** @returns no address if the check has failed */
export async function checkName(url: URL): Promise<{ check: TargetCheck; addresses: LookupAddress[] }> {
  const hostname = url.hostname.replace(/^\[|\]$/g, '');
  const tried = `the addresses of ${hostname}`;
  const family = isIP(hostname);
  if (family !== 0) {
    return {
      check: { name: 'name', status: 'ok', tried, found: 'it is one' },
      addresses: [{ address: hostname, family }],
    };
  }
  try {
    const all = distinct(await lookup(hostname, { all: true }));
    const found = `${all.length === 1 ? 'one address' : `${all.length} addresses`}: ${all.map(({ address }) => address).join(', ')}`;
    return { check: { name: 'name', status: 'ok', tried, found }, addresses: await reachableKinds(hostname, all) };
  } catch (error) {
    const found = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
    const fix = "correct the target's host name, or the DNS of this machine";
    return { check: { name: 'name', status: 'failed', tried, found, fix }, addresses: [] };
  }
}

function distinct(addresses: LookupAddress[]): LookupAddress[] {
  return [...new Map(addresses.map((one) => [one.address, one])).values()];
}

/** Of `localhost`, most servers have one of both. */
async function reachableKinds(hostname: string, all: LookupAddress[]): Promise<LookupAddress[]> {
  const four = all.filter(({ family }) => family === 4);
  return hostname === 'localhost' && four.length > 0 ? four : all;
}
