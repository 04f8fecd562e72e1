/** All checks of a target, in the order in which the first mistake explains those after it. */
import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { integer, spaced } from '../../../report/text/format.ts';
import { singleRoom } from '../../run/broadcasts/round-trips.ts';
import { RunClients } from '../../run/receivers/run-clients.ts';
import type { Script } from '../../script/script.ts';
import type { Settings } from '../../script/settings.ts';
import { diagnose } from '../diagnosis.ts';
import { readSituation } from '../situation.ts';
import { checkBurst } from './burst.ts';
import { checkCertificates } from './check-certificate.ts';
import { checkConnect, checkPolling } from './check-connect.ts';
import { checkIdle } from './check-idle.ts';
import { checkSources } from './check-sources.ts';
import { checkControls } from './controls.ts';
import { check, type TargetCheck } from './target-check.ts';
import { checkUpgrades } from './upgrade.ts';

interface Examination {
  /** Each as soon as it is known. */
  onCheck(check: TargetCheck): void;
  /** Connections at once that the user allows. */
  burst?: number;
  /** The next check takes so many seconds. */
  onHold(seconds: number): void;
}

/** Limits of this machine that are counted for each connection. */
const LIMITS = ['generatorPorts', 'generatorFiles'];

/** Makes some connections, one by one, and no load but the burst that the user allows. */
export async function examineTarget(
  settings: Settings,
  script: Script,
  { onCheck, onHold, burst = 0 }: Examination,
  signal: AbortSignal,
): Promise<TargetCheck[]> {
  const checks: TargetCheck[] = [];
  const add = (...found: TargetCheck[]) => {
    for (const one of found) onCheck(one);
    checks.push(...found);
  };
  const { named, addresses } = await checkName(new URL(settings.target));
  add(named);
  const clients = await RunClients.open(settings, script);
  const subject = { connection: clients.connection, clients, addresses, signal };
  let isConnected = false;
  if (addresses.length > 0) {
    add(...(await checkCertificates(subject)));
    const { connected, asUser } = await checkConnect(subject, settings.control && singleRoom(settings.room));
    add(...(await checkUpgrades({ ...subject, connection: asUser })));
    add(...(await checkPolling({ ...subject, connection: asUser })));
    add(connected);
    isConnected = connected.status === 'ok';
  }
  add(...(await checkControls(settings, signal)));
  add(...(await checkSources(settings)));
  add(...(await checkLimits(settings, addresses.length)));
  if (isConnected) add(await checkIdle(subject, onHold));
  // Last: those that leave may still count for the next one.
  if (isConnected && burst > 0) add(await checkBurst(subject, burst));
  return checks;
}

/** Connections go to all of its addresses, so each has to answer, and ports are counted for each. */
async function checkName(url: URL): Promise<{ named: TargetCheck; addresses: LookupAddress[] }> {
  const hostname = url.hostname.replace(/^\[|\]$/g, '');
  let addresses: LookupAddress[] = [];
  const examine = async () => {
    const all = await lookup(hostname, { all: true });
    const four = all.filter(({ family }) => family === 4);
    // Most servers listen on one of the two addresses of `localhost`.
    const reachable = hostname === 'localhost' && four.length > 0 ? four : all;
    addresses = [...new Map(reachable.map((one) => [one.address, one])).values()];
    return { status: 'ok' as const, found: addresses.map(({ address }) => address).join(', ') };
  };
  const fix = "correct the target's host name, or the DNS of this machine";
  const named = await check('name', `the addresses of ${hostname}`, examine, fix);
  return { named, addresses };
}

async function checkLimits(settings: Settings, addresses: number): Promise<TargetCheck[]> {
  const { connections, limits } = diagnose(await readSituation(settings));
  return limits
    .filter(({ name }) => LIMITS.includes(name))
    .map(({ name, max, raise }) => {
      const ofEach = name === 'generatorPorts' && addresses > 1 ? ` to one of the target's ${addresses} addresses` : '';
      const found = max === null ? 'no limit' : `at most ${integer(max)}${ofEach}`;
      const tried = `${spaced(name)} for ${integer(connections)} connections`;
      if (max === null || max >= connections) return { name: 'limits', status: 'ok', tried, found };
      return { name: 'limits', status: 'failed', tried, found, ...(raise && { fix: raise }) };
    });
}
