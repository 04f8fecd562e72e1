/** The WebSocket servers under Socket.IO that `CAPACITY_WEBSOCKETS` can choose. To add one: write its file, add it here. */
import type { Attach } from './attach.ts';
import { attachToEiows } from './eiows.ts';
import { attachToUws } from './uwebsockets.ts';
import { attachToWs } from './ws.ts';

export const WEBSOCKETS = {
  ws: attachToWs,
  eiows: attachToEiows,
  'uWebSockets.js': attachToUws,
} satisfies Record<string, Attach>;

export type WebSocketsName = keyof typeof WEBSOCKETS;

/** A plain server on `ws`, without Socket.IO: `plain/app.ts`. */
export const PLAIN = 'plain-ws';
