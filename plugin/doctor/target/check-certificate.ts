/** Checks the certificate at each address of the target: its validity, names and issuer. */
import { once } from 'node:events';
import { isIP } from 'node:net';
import { connect, type PeerCertificate } from 'node:tls';
import { fixedLookup, isTlsUrl, tlsConnectOptions } from '../../../protocol/wire/http-agent.ts';
import { certificateDay, certificateProblem } from '../../run/receivers/certificate-problem.ts';
import { portOfUrl } from '../../run/target/target-listeners.ts';
import { destroyAfter } from '../../samplers/index.ts';
import {
  addressText,
  type ExaminedTarget,
  runTargetCheck,
  TARGET_TIMEOUT_MS,
  type TargetCheck,
  type TargetFinding,
} from './target-check.ts';

const SOON_DAYS = 14;
const DAY_MS = 86_400_000;
const OPTION = 'config.engines.socketio-capacity.tls';
const MEANWHILE = `to measure anyway, ${OPTION}: {rejectUnauthorized: false}, or artillery run -k`;
const NO_TLS =
  'start the server or its proxy, let this machine reach it, or correct the target: http:// if it speaks no TLS';

export async function checkCertificates({ connection, addresses }: ExaminedTarget): Promise<TargetCheck[]> {
  if (!isTlsUrl(connection.url)) return [];
  const { tls } = connection;
  const url = new URL(connection.url);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const servername = tls.servername ?? (isIP(host) === 0 ? host : undefined);
  return Promise.all(
    addresses.map((address) => {
      const examine = async () => {
        const socket = connect({
          host,
          port: portOfUrl(connection.url),
          lookup: fixedLookup(address) as never,
          ...tlsConnectOptions(tls),
          ...(servername !== undefined && { servername }),
          ALPNProtocols: ['http/1.1'],
          // Accepts an invalid certificate, to find out what is wrong with it.
          rejectUnauthorized: false,
        });
        destroyAfter(socket, TARGET_TIMEOUT_MS);
        await once(socket, 'secureConnect');
        const problem = socket.authorizationError as NodeJS.ErrnoException | string | null | undefined;
        const code = typeof problem === 'string' ? problem : (problem?.code ?? problem?.message);
        const certificate = socket.getPeerCertificate();
        socket.destroy();
        return judgeCertificate(certificate, code, servername ?? host, tls.rejectUnauthorized);
      };
      return runTargetCheck('certificate', `the certificate at ${addressText(url, address)}`, examine, NO_TLS);
    }),
  );
}

/** @param problem Node's error code for the certificate, as a client that checks certificates would get it */
export function judgeCertificate(
  certificate: Pick<PeerCertificate, 'valid_from' | 'valid_to' | 'subject' | 'subjectaltname'>,
  problem: string | undefined,
  name: string,
  rejectUnauthorized = true,
  nowMs = Date.now(),
): TargetFinding {
  if (problem === undefined) {
    const until = new Date(certificate.valid_to);
    const days = Math.floor((until.getTime() - nowMs) / DAY_MS);
    const found = `valid for ${name}, until ${certificateDay(certificate.valid_to)}`;
    return days >= SOON_DAYS
      ? { status: 'ok', found }
      : { status: 'warning', found: `${found}: ${days} days`, fix: 'renew it' };
  }
  const { found, fix } = certificateProblem(problem, name, certificate) ?? { found: problem, fix: NO_TLS };
  if (!rejectUnauthorized) return { status: 'warning', found: `${found}; the load does not check it`, fix };
  return { status: 'failed', found, fix: `${fix}; ${MEANWHILE}` };
}
