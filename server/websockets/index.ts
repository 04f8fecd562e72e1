/** The WebSocket servers under Socket.IO that `CAPACITY_WEBSOCKETS` can choose. To add one: write its file, add it here. */
import { bundledWs } from '../control/versions.ts';
import { importOptional } from '../optional-packages.ts';
import type { Attach } from './attach.ts';
import { attachToHttp } from './http-server.ts';
import { attachToUws } from './uwebsockets.ts';

export const WEBSOCKETS = {
  /** Bundled with Engine.IO. */
  ws: async (options) => attachToHttp(options, bundledWs()),
  /** Replaces `ws` behind Node's HTTP server. */
  eiows: async (options, modules) => {
    const { module, version } = await importOptional<{ Server: unknown }>('eiows@11.1.1', modules);
    return attachToHttp({ ...options, wsEngine: module.Server }, `eiows ${version}`);
  },
  'uWebSockets.js': attachToUws,
} satisfies Record<string, Attach>;

export type WebSocketsName = keyof typeof WEBSOCKETS;

/** A plain server on `ws`, without Socket.IO: `plain/plain-app.ts`. */
export const PLAIN = 'plain-ws';
