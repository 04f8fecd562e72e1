/**
 * Reads the files and finds the modules that options name. Paths are relative to the folder of the scenario, as in
 * Artillery.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { formatPath, type InputProblem, type ProblemPath } from '../../../protocol/base/problems.ts';
import { tryOrUndefined } from '../../../protocol/base/try-or-undefined.ts';
import type { TlsOptions } from '../../../protocol/wire/connection.ts';
import type { Script } from '../script.ts';

const PEM = '-----BEGIN ';
/** Short names of parser modules, as in artillery-engine-socketio-v3. */
const PARSERS: Record<string, string> = { msgpack: 'socket.io-msgpack-parser' };

export function scriptFolder({ _scriptPath }: Script): string {
  return _scriptPath === undefined ? process.cwd() : dirname(resolve(_scriptPath));
}

/** Schema of the option `tls`, in `config`, in the engine's options and in `control`. */
export const tlsOptionsSchema = z.strictObject({
  rejectUnauthorized: z.boolean().optional().describe('`false` accepts any certificate'),
  servername: z.string().optional().describe('name for SNI and the certificate check; default: the URL’s host'),
  ca: z.string().optional().describe('certificate authority: PEM text, or a file beside the scenario'),
  cert: z.string().optional().describe('client certificate: PEM text, or a file beside the scenario'),
  key: z.string().optional().describe('its private key: PEM text, or a file beside the scenario'),
});

/** Replaces file names in the options by the files' contents. Adds a problem for each file that cannot be read. */
export function readTlsFiles(tls: TlsOptions, folder: string, at: ProblemPath, problems: InputProblem[]): TlsOptions {
  const read = { ...tls };
  for (const key of ['ca', 'cert', 'key'] as const) {
    const value = tls[key];
    if (value === undefined || value.includes(PEM)) continue;
    // Error messages do not contain the value, because it may be a private key.
    try {
      read[key] = readFileSync(resolve(folder, value), 'utf8');
      if (!read[key].includes(PEM)) problems.push(notPem([...at, key], 'the file has no PEM text'));
    } catch (error) {
      problems.push(notPem([...at, key], `it cannot be read as a file (${(error as NodeJS.ErrnoException).code})`));
    }
  }
  return read;
}

function notPem(at: ProblemPath, why: string): InputProblem {
  return { path: formatPath(at), message: `expected PEM text, or the name of a PEM file beside the scenario: ${why}` };
}

/** Returns the path of a parser: a file, or a module that is installed beside the scenario or the engine. */
export function findParser(
  name: string,
  folder: string,
  at: ProblemPath,
  problems: InputProblem[],
): string | undefined {
  const module = PARSERS[name] ?? name;
  for (const from of [resolve(folder, 'scenario.yml'), import.meta.filename]) {
    const found = tryOrUndefined(() => createRequire(from).resolve(module));
    if (found !== undefined) return found;
  }
  const message = `no parser "${module}": install it beside the scenario (npm install ${module}), or write ./<file>`;
  problems.push({ path: formatPath(at), message });
  return undefined;
}
