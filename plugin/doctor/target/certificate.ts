/** The certificate at each address of the target: its dates, its names, and whether the load would trust it. */
import type { LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import { connect, type PeerCertificate, type TLSSocket } from 'node:tls';
import { lookupOf, speaksTls, tlsConnectOptions } from '../../../protocol/agent.ts';
import { placeOf, portOf, type Subject, type TargetCheck, TIMEOUT_MS } from './target-check.ts';

const SOON_DAYS = 14;
const DAY_MS = 86_400_000;
const OPTION = 'config.engines.socketio-capacity.tls';
const MEANWHILE = `to measure in spite of it, ${OPTION}: {rejectUnauthorized: false}, or artillery run -k`;

export async function checkCertificates(subject: Subject): Promise<TargetCheck[]> {
  if (!speaksTls(subject.connection.url)) return [];
  return Promise.all(subject.addresses.map((address) => checkCertificate(subject, address)));
}

async function checkCertificate({ connection }: Subject, address: LookupAddress): Promise<TargetCheck> {
  const url = new URL(connection.url);
  const tried = `the certificate at ${placeOf(url, address)}`;
  const hostname = url.hostname.replace(/^\[|\]$/g, '');
  const name = connection.tls.servername ?? hostname;
  try {
    const socket = await handshake(url, hostname, connection.tls, address);
    const certificate = socket.getPeerCertificate();
    const problem = socket.authorizationError as Error | string | undefined;
    socket.destroy();
    return {
      name: 'certificate',
      tried,
      ...judge(certificate, codeOf(problem), name, connection.tls.rejectUnauthorized),
    };
  } catch (error) {
    return { name: 'certificate', status: 'failed', tried, ...noHandshake(error as NodeJS.ErrnoException) };
  }
}

function handshake(
  url: URL,
  host: string,
  tls: Subject['connection']['tls'],
  address: LookupAddress,
): Promise<TLSSocket> {
  const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>();
  const servername = tls.servername ?? (isIP(host) === 0 ? host : undefined);
  const socket = connect({
    host,
    port: portOf(url),
    lookup: lookupOf(address) as never,
    ...tlsConnectOptions(tls),
    ...(servername !== undefined && { servername }),
    ALPNProtocols: ['http/1.1'],
    // What is wrong with it is to be seen.
    rejectUnauthorized: false,
    timeout: TIMEOUT_MS,
  });
  socket.once('secureConnect', () => resolve(socket));
  socket.once('error', reject);
  socket.once('timeout', () => reject(Object.assign(new Error(), { code: 'ETIMEDOUT' })));
  promise.catch(() => socket.destroy());
  return promise;
}

/** Node has an error or its code here. */
function codeOf(problem: Error | string | undefined | null): string | undefined {
  if (problem === undefined || problem === null) return undefined;
  return typeof problem === 'string' ? problem : ((problem as NodeJS.ErrnoException).code ?? problem.message);
}

type Judgement = Pick<TargetCheck, 'status' | 'found' | 'fix'>;

/** @param problem Node's code for what a client that checks it would refuse */
export function judge(
  certificate: Pick<PeerCertificate, 'valid_from' | 'valid_to' | 'subject' | 'subjectaltname'>,
  problem: string | undefined,
  name: string,
  rejectUnauthorized = true,
  nowMs = Date.now(),
): Judgement {
  const until = new Date(certificate.valid_to);
  const names = namesOf(certificate);
  if (problem === undefined) {
    const days = Math.floor((until.getTime() - nowMs) / DAY_MS);
    const found = `valid for ${name}, until ${day(until)}`;
    return days >= SOON_DAYS
      ? { status: 'ok', found }
      : { status: 'warning', found: `${found}: ${days} days`, fix: 'renew it' };
  }
  const [what, fix] = explain(problem, { names, name, until, from: new Date(certificate.valid_from) });
  if (!rejectUnauthorized) return { status: 'warning', found: `${what}; the load does not check it`, fix };
  return { status: 'failed', found: what, fix: `${fix}; ${MEANWHILE}` };
}

function explain(problem: string, about: { names: string[]; name: string; until: Date; from: Date }): [string, string] {
  const { names, name, until, from } = about;
  if (problem === 'CERT_HAS_EXPIRED') return [`it expired on ${day(until)}`, 'renew it'];
  if (problem === 'CERT_NOT_YET_VALID')
    return [`it is valid only from ${day(from)}`, "set this machine's clock, or wait"];
  if (problem === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const first = names[0] ?? 'a name of its own';
    return [
      `it is for ${names.join(', ') || 'no name'}, and not for ${name}`,
      `use that name in the target, or ${OPTION}: {servername: ${first}}`,
    ];
  }
  return [
    `its authority is not trusted (${problem})`,
    `name the authority's certificate: ${OPTION}: {ca: authority.pem}`,
  ];
}

/** @returns `staging.example.com`, `10.0.0.5` */
function namesOf({ subjectaltname, subject }: Pick<PeerCertificate, 'subject' | 'subjectaltname'>): string[] {
  const listed = (subjectaltname ?? '').split(', ').map((one) => one.replace(/^(DNS|IP Address):/, ''));
  const names = listed.filter((one) => one !== '');
  return names.length > 0 ? names : [subject?.CN].flat().filter((one) => one !== undefined);
}

function day(date: Date): string {
  return Number.isNaN(date.getTime()) ? 'an unknown day' : date.toISOString().slice(0, 10);
}

function noHandshake({ code, message }: NodeJS.ErrnoException): Pick<TargetCheck, 'found' | 'fix'> {
  const found = `no TLS: ${code ?? message}`;
  if (code === 'ECONNREFUSED') return { found, fix: 'start the server or its proxy, or correct the target' };
  if (code === 'ETIMEDOUT') return { found, fix: 'let this machine reach that port: a firewall drops what it sends' };
  return { found, fix: 'what listens there does not speak TLS: write http:// in the target, or correct its port' };
}
