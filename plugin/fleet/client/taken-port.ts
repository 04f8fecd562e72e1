/** Source ports that we choose ourselves can be in use by another process: the next one is tried then. */
export const PORT_TAKEN: ReadonlySet<string | undefined> = new Set(['EADDRINUSE', 'EADDRNOTAVAIL']);
export const MAX_PORT_TRIES = 100;
