/** Creates self-signed certificates. nginx gets a certificate for loopback, created together with its stack. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generate } from 'selfsigned';

const ADDRESS = '127.0.0.1';
/** Types of names in a certificate (RFC 5280). */
const DNS_NAME = 2 as const;
const IP_ADDRESS = 7 as const;

export interface CertificateFiles {
  certFile: string;
  keyFile: string;
}

type AltName = { type: typeof DNS_NAME; value: string } | { type: typeof IP_ADDRESS; ip: string };

export async function makeCertificate(dir: string): Promise<CertificateFiles> {
  const { certificate, key } = await createSelfSigned(ADDRESS, [
    { type: IP_ADDRESS, ip: ADDRESS },
    { type: DNS_NAME, value: 'localhost' },
  ]);
  const files = { certFile: join(dir, 'cert.pem'), keyFile: join(dir, 'key.pem') };
  writeFileSync(files.certFile, certificate);
  writeFileSync(files.keyFile, key, { mode: 0o600 });
  return files;
}

/**
 * Creates a self-signed certificate with a P-256 key, which is also the default of public authorities.
 * @returns PEM
 */
export async function createSelfSigned(
  commonName: string,
  altNames: AltName[],
): Promise<{ certificate: string; key: string }> {
  const { cert: certificate, private: key } = await generate([{ name: 'commonName', value: commonName }], {
    keyType: 'ec',
    curve: 'P-256',
    algorithm: 'sha256',
    ...(altNames.length > 0 && { extensions: [{ name: 'subjectAltName', altNames }] }),
  });
  return { certificate, key };
}
