import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Starts an HTTP server on a free port of loopback. */
export async function listen(listener?: RequestListener): Promise<{ http: Server; url: string; close: () => void }> {
  const http = createServer(listener);
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  return { http, url, close: () => void http.close() };
}
