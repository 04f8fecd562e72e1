/** The certificate with which nginx speaks TLS. It is for loopback only, and as old as its stack. */
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

/** Makes a key on P-256, which public authorities certify by default, and signs it with itself. */
export async function makeCertificate(dir: string): Promise<CertificateFiles> {
  const altNames = [
    { type: IP_ADDRESS, ip: ADDRESS },
    { type: DNS_NAME, value: 'localhost' },
  ];
  const { cert, private: key } = await generate([{ name: 'commonName', value: ADDRESS }], {
    keyType: 'ec',
    curve: 'P-256',
    algorithm: 'sha256',
    extensions: [{ name: 'subjectAltName', altNames }],
  });
  const files = { certFile: join(dir, 'cert.pem'), keyFile: join(dir, 'key.pem') };
  writeFileSync(files.certFile, cert);
  writeFileSync(files.keyFile, key, { mode: 0o600 });
  return files;
}
