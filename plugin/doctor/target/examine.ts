/** All checks of a target, in the order in which the first mistake explains those after it. */
import { integer, spaced } from '../../../report/text/format.ts';
import { OwnClients } from '../../run/receivers/own-clients.ts';
import type { Script } from '../../script/script.ts';
import type { Settings } from '../../script/settings.ts';
import { diagnose } from '../diagnosis.ts';
import { readSituation } from '../situation.ts';
import { checkCertificates } from './certificate.ts';
import { checkConnect, checkPolling } from './connect.ts';
import { checkControls } from './controls.ts';
import { checkIdle } from './idle.ts';
import { checkMetrics } from './metrics.ts';
import { checkName } from './name.ts';
import type { TargetCheck } from './target-check.ts';
import { checkUpgrades } from './upgrade.ts';

export interface Examination {
  /** Each as soon as it is known. */
  onCheck(check: TargetCheck): void;
  /** The last check takes so many seconds. */
  onHold(seconds: number): void;
}

/** Limits of this machine that are counted for each connection. */
const LIMITS = ['generatorPorts', 'generatorFiles'];

/** Makes some connections, one by one, and no load. */
export async function examineTarget(
  settings: Settings,
  script: Script,
  { onCheck, onHold }: Examination,
  signal: AbortSignal,
): Promise<TargetCheck[]> {
  const checks: TargetCheck[] = [];
  const add = (...found: TargetCheck[]) => {
    for (const check of found) onCheck(check);
    checks.push(...found);
  };
  const url = new URL(settings.target);
  const { check, addresses } = await checkName(url);
  add(check);
  const clients = await OwnClients.open(settings, script);
  const subject = { connection: clients.connection, clients, addresses, signal };
  if (addresses.length > 0) {
    add(...(await checkCertificates(subject)));
    const { check: connected, connection } = await checkConnect(subject, settings.control !== undefined);
    const asUser = { ...subject, connection };
    add(...(await checkUpgrades(asUser)));
    add(...(await checkPolling(asUser)));
    add(connected);
  }
  add(...(await checkControls(settings.control, signal)));
  add(...(await checkMetrics(settings)));
  add(...(await checkLimits(settings, addresses.length)));
  if (checks.every(({ name, status }) => name !== 'connect' || status === 'ok') && addresses.length > 0) {
    add(await checkIdle(subject, onHold));
  }
  return checks;
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
