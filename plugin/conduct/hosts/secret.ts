/** The conductor's token and certificate: made for one run, or read from a folder where several processes have to agree on them. */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CapacityError } from '../../../protocol/errors.ts';
import { selfSigned } from '../../../server/stack/certificate.ts';
import { fingerprintOf } from './join-line.ts';

export interface Secret {
  token: string;
  /** PEM. */
  certificate: string;
  key: string;
}

const TOKEN = /^[\w-]{16,}$/;

export async function newSecret(): Promise<Secret> {
  return { token: randomBytes(24).toString('base64url'), ...(await selfSigned('socketio-capacity conductor', [])) };
}

/**
 * @param folder with `token`, `tls.crt` and `tls.key`, as Kubernetes mounts a Secret
 * @throws CapacityError JOIN_SECRET_INVALID
 */
export function readSecret(folder: string): Secret {
  try {
    const read = (name: string) => readFileSync(join(folder, name), 'utf8').trim();
    const secret = { token: read('token'), certificate: read('tls.crt'), key: read('tls.key') };
    if (!TOKEN.test(secret.token)) throw new Error('token: expected at least 16 letters, digits, - or _');
    fingerprintOf(secret.certificate);
    return secret;
  } catch (cause) {
    throw new CapacityError(
      'JOIN_SECRET_INVALID',
      `${folder} is no secret of a conductor: ${(cause as Error).message}`,
      'give it the files token, tls.crt and tls.key (PEM)',
      { cause },
    );
  }
}
