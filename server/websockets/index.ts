/** All WebSocket servers that `CAPACITY_WEBSOCKETS` can choose. To add one: write its file, add it here. */
import type { Attach } from './attach.ts';
import { attachToWs } from './ws.ts';

export const WEBSOCKETS = { ws: attachToWs } satisfies Record<string, Attach>;

export type WebSocketsName = keyof typeof WEBSOCKETS;
