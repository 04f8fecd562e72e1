/** Runs all checks of a target. The checks are in an order in which the first failed check explains later ones. */
import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { integerText, spacedWords } from '../../../report/text/format.ts';
import { singleRoom } from '../../run/broadcasts/round-trips.ts';
import { RunClients } from '../../run/receivers/run-clients.ts';
import type { Script } from '../../script/script.ts';
import type { Settings } from '../../script/settings.ts';
import { diagnose } from '../diagnosis.ts';
import { readDoctorSituation } from '../situation.ts';
import { checkBurst } from './burst.ts';
import { checkCertificates } from './check-certificate.ts';
import { checkConnect, checkPolling, checkUpgrades } from './check-connect.ts';
import { checkIdle } from './check-idle.ts';
import { checkWorkerSources } from './check-sources.ts';
import { checkControlPorts } from './controls.ts';
import { runTargetCheck, type TargetCheck } from './target-check.ts';

interface Examination {
  /** Called after each check. */
  onCheck(check: TargetCheck): void;
  /** Number of simultaneous connections that the user allows for the burst check. */
  burst?: number;
  /** Called before the check that holds a connection, with the duration of that check. */
  onHold(seconds: number): void;
}

/** Names of the generator's limits that do not depend on the target. */
const LIMITS = ['generatorPorts', 'generatorFiles'];

/**
 * Checks the target with a few connections, one after the other. Only the burst check, if the user allows it, puts load
 * on the target.
 */
export async function examineTarget(
  settings: Settings,
  script: Script,
  { onCheck, onHold, burst = 0 }: Examination,
  signal: AbortSignal,
): Promise<TargetCheck[]> {
  const checks: TargetCheck[] = [];
  const add = (...found: TargetCheck[]) => {
    for (const check of found) onCheck(check);
    checks.push(...found);
  };
  const { nameCheck, addresses } = await checkName(new URL(settings.target));
  add(nameCheck);
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
  add(...(await checkControlPorts(settings, signal)));
  add(...(await checkWorkerSources(settings)));
  add(...(await checkLimits(settings, addresses.length)));
  if (isConnected) add(await checkIdle(subject, onHold));
  // The burst check is last, because the server may count its closed connections for a while.
  if (isConnected && burst > 0) add(await checkBurst(subject, burst));
  return checks;
}

/**
 * Looks up the target's host name. The load connects to all addresses of the name, so each address is checked, and
 * source ports are counted per address.
 */
async function checkName(url: URL): Promise<{ nameCheck: TargetCheck; addresses: LookupAddress[] }> {
  const hostname = url.hostname.replace(/^\[|\]$/g, '');
  let addresses: LookupAddress[] = [];
  const examine = async () => {
    const all = await lookup(hostname, { all: true });
    const ipv4 = all.filter(({ family }) => family === 4);
    // `localhost` has an IPv4 and an IPv6 address, and most servers listen on only one of them.
    const used = hostname === 'localhost' && ipv4.length > 0 ? ipv4 : all;
    addresses = [...new Map(used.map((entry) => [entry.address, entry])).values()];
    return { status: 'ok' as const, found: addresses.map(({ address }) => address).join(', ') };
  };
  const fix = "correct the target's host name, or the DNS of this machine";
  const nameCheck = await runTargetCheck('name', `the addresses of ${hostname}`, examine, fix);
  return { nameCheck, addresses };
}

async function checkLimits(settings: Settings, addresses: number): Promise<TargetCheck[]> {
  const { connections, limits } = diagnose(await readDoctorSituation(settings));
  return limits
    .filter(({ name }) => LIMITS.includes(name))
    .map(({ name, max, raise }) => {
      const perAddress =
        name === 'generatorPorts' && addresses > 1 ? ` to one of the target's ${addresses} addresses` : '';
      const found = max === null ? 'no limit' : `at most ${integerText(max)}${perAddress}`;
      const tried = `${spacedWords(name)} for ${integerText(connections)} connections`;
      if (max === null || max >= connections) return { name: 'limits', status: 'ok', tried, found };
      return { name: 'limits', status: 'failed', tried, found, ...(raise && { fix: raise }) };
    });
}
