/** What `npx socketio-capacity observe` on another host tells of one layer there: the wire between it and a run. */
import type { Host } from './machine/host.ts';

/** Parts of a deployment that have no control port. */
export const OBSERVED_LAYERS = ['nginx', 'haproxy', 'redis'] as const;
export type ObservedLayer = (typeof OBSERVED_LAYERS)[number];

/** `GET` with `Authorization: Bearer <token>`; `?pss=1` asks for the proportional set size, too. */
export const OBSERVATION_PATH = '/observation';

export interface Observation {
  layer: ObservedLayer;
  host: Host;
  processes: number;
  rssBytes: number;
  /** If asked for, and readable for every process. */
  pssBytes?: number;
  /** CPU time of the processes since the observer began. */
  cpuUs: number;
  /** Another text as soon as one of the processes has ended. */
  identity: string;
  machine: {
    /** Memory that is not available. */
    usedBytes: number;
    /** In TCP buffers; missing where the kernel does not tell. */
    tcpBytes?: number;
    /** TCP sockets in use. */
    tcpSockets?: number;
  };
}
