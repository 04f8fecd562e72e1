import type { Namespace, Server, Socket } from 'socket.io';

/*
 * Socket.IO server with any event map. The server's type parameters are invariant, so only `any` accepts every event
 * map.
 */
/* biome-ignore-start lint/suspicious/noExplicitAny: see above */
export type AnyServer = Server<any, any, any, any>;
export type AnyNamespace = Namespace<any, any, any, any>;
export type AnySocket = Socket<any, any, any, any>;
/* biome-ignore-end lint/suspicious/noExplicitAny: see above */
