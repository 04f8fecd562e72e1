/** The options of TLS, wherever a scenario has them: `config.tls`, the engine's `tls`, and that of `control`. */
import { z } from 'zod';
import type { TlsOptions } from '../../../protocol/connection.ts';
import type { Path, Problem } from '../../../protocol/problems.ts';
import { readTlsFiles } from './files.ts';

export const tlsSchema = z.strictObject({
  rejectUnauthorized: z.boolean().optional().describe('`false` accepts any certificate'),
  servername: z.string().optional().describe('name for SNI and the certificate check; default: the URL’s host'),
  ca: z.string().optional().describe('certificate authority: PEM text, or a file beside the scenario'),
  cert: z.string().optional().describe('client certificate, likewise'),
  key: z.string().optional().describe('its key, likewise'),
});

/**
 * Control ports are other hosts than the target, often with a certificate of another authority.
 * @param shared how the load speaks TLS: all of it counts here, too, except for the target's name
 * @param own written for these hosts; takes precedence
 */
export function tlsOfOtherHosts(
  { servername: _, resume: __, ...shared }: TlsOptions,
  own: TlsOptions | undefined,
  folder: string,
  at: Path,
  problems: Problem[],
): TlsOptions {
  return { ...shared, ...(own && readTlsFiles(own, folder, at, problems)) };
}
