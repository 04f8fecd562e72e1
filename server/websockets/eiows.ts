/** The package `eiows`: in place of `ws`, behind Node's HTTP server. */
import { importOptional } from '../optional-packages.ts';
import type { Attach } from './attach.ts';
import { attachToHttp } from './http.ts';

export const attachToEiows: Attach = async (options, modules) => {
  const { module, version } = await importOptional<{ Server: unknown }>(['eiows'], 'eiows@11.1.1', modules);
  return attachToHttp({ ...options, wsEngine: module.Server }, `eiows ${version}`);
};
