/** Translates Node's certificate error codes into a problem and a fix. */
import type { PeerCertificate } from 'node:tls';
import { ENGINE_NAME } from '../../script/script.ts';

const TLS = `config.engines.${ENGINE_NAME}.tls`;

/** The fields of a certificate that error messages use. Any of them may be missing. */
export type CertificateFields = Partial<
  Pick<PeerCertificate, 'valid_from' | 'valid_to' | 'subject' | 'subjectaltname' | 'issuer'>
>;

/**
 * Returns the problem and the fix for a certificate error code.
 * @param code error code such as `CERT_HAS_EXPIRED`
 * @param name host name that the certificate must match
 * @returns undefined for a code that does not concern certificates
 */
export function certificateProblem(
  code: string,
  name: string,
  certificate: CertificateFields = {},
): { found: string; fix: string } | undefined {
  const { valid_from, valid_to, subject, subjectaltname } = certificate;
  switch (code) {
    case 'CERT_HAS_EXPIRED':
      return {
        found: valid_to ? `it expired on ${certificateDay(valid_to)}` : 'it has expired',
        fix: "renew it, or correct this machine's clock",
      };
    case 'CERT_NOT_YET_VALID':
      return {
        found: valid_from ? `it is valid only from ${certificateDay(valid_from)}` : 'it is not valid yet',
        fix: "set this machine's clock, or wait",
      };
    case 'ERR_TLS_CERT_ALTNAME_INVALID': {
      const names = subjectaltname?.replaceAll(/(DNS|IP Address):/g, '') || subject?.CN || 'another name';
      const fix = `use that name in the target, or ${TLS}: {servername: <name>}`;
      return { found: `it is for ${names}, and not for ${name}`, fix };
    }
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
      return { found: `it is self-signed (${code})`, fix: `trust it: ${TLS}: {ca: certificate.pem}` };
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE': {
      const found = `the server does not send the certificate of its issuer (${code})`;
      return { found, fix: `let the server send the whole chain, or name the issuer: ${TLS}: {ca: issuer.pem}` };
    }
    case 'CERT_REVOKED':
      return { found: 'it is revoked', fix: 'let the server use a new one' };
    default: {
      if (!/CERT|SELF_SIGNED|UNABLE_TO_|INVALID_(CA|PURPOSE)/.test(code)) return undefined;
      const fix = `name the authority's certificate: ${TLS}: {ca: authority.pem}`;
      return { found: `its authority is not trusted (${code})`, fix };
    }
  }
}

export function certificateDay(date = ''): string {
  const time = new Date(date);
  return Number.isNaN(time.getTime()) ? 'an unknown day' : time.toISOString().slice(0, 10);
}
