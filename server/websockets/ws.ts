/** The `ws` package that comes with Engine.IO, behind Node's HTTP server. */
import { bundledWs } from '../control/versions.ts';
import type { Attach } from './attach.ts';
import { attachToHttp } from './http.ts';

export const attachToWs: Attach = async (options) => attachToHttp(options, bundledWs());
