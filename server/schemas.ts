/** Schemas that the server's environment and the options of `instrument()` share. */
import { hostname } from 'node:os';
import { z } from 'zod';

const TOKEN_MIN_LENGTH = 16;

/** Worker id. It has no dash, because nginx uses the part of a session id before the first dash as the worker id. */
export const workerSchema = z.string().regex(/^[a-z0-9]+$/, 'must be lower-case letters and digits, such as w0');

/**
 * Returns the default worker id: host name and process id. Process ids are often equal in two containers, host names
 * are not.
 */
export function defaultWorker(): string {
  return `${hostname()
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '')}p${process.pid}`;
}

export const tokenSchema = z.string().min(TOKEN_MIN_LENGTH, `must have at least ${TOKEN_MIN_LENGTH} characters`);
/** PEM, as text or as a buffer. */
const pemSchema = z.union([z.string().min(1), z.instanceof(Buffer)]);
export const serverTlsSchema = z.strictObject({ key: pemSchema, cert: pemSchema });

export const roomsSchema = z.union([z.literal('any'), z.array(z.string().min(1)).min(1)], {
  error: "must be a list of room names, or 'any'",
});
export const portSchema = z.coerce.number().int().min(0).max(65_535);
