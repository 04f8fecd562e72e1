import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Self-signed certificate for localhost, and its key. */
export const PEM_FILES = {
  cert: fileURLToPath(new URL('../fixtures/tls/cert.pem', import.meta.url)),
  key: fileURLToPath(new URL('../fixtures/tls/key.pem', import.meta.url)),
};
export const PEM = { cert: readFileSync(PEM_FILES.cert, 'utf8'), key: readFileSync(PEM_FILES.key, 'utf8') };
