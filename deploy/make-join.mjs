/**
 * Writes the secrets of a conductor and its agents into a folder: token and certificate for the conductor, and the join token for the
 * agents.
 *
 *   node make-join.mjs <folder> <host:port>
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  createConductorSecret,
  fingerprintOf,
  formatJoinToken,
} from './node_modules/artillery-plugin-socketio-capacity/dist/plugin/conduct/hosts/join-token.js';

const [folder = '', address = ''] = process.argv.slice(2);
const [host, port] = address.split(':');
const { token, certificate, key } = await createConductorSecret();
const joinToken = formatJoinToken({ host, port: Number(port), token, fingerprint: fingerprintOf(certificate) });
const files = { token, 'tls.crt': certificate, 'tls.key': key, 'join-token': joinToken };
for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text, { mode: 0o600 });
