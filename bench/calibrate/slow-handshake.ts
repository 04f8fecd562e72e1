/**
 * A server that takes a known time for each stage of a connection, or refuses it in a known way, in turn. Socket.IO's
 * own server cannot delay these stages, so this one implements only the few packets of a handshake.
 */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { monotonicUs } from '../../protocol/clock/clock.ts';
import { serve } from './known-process.ts';

export type Refusal = 'http_503' | 'closed' | 'namespace_refused' | 'not_engineio' | 'timeout_upgrade' | 'timeout_open';

export interface SlowHandshakeConfig {
  delaysMs: { upgrade: number; open: number; namespace: number };
  /** In turn, one for each connection; null accepts it. */
  refusals: (Refusal | null)[];
}

export interface SlowHandshakeTruth {
  /** How long each accepted connection waited for each stage's reply. */
  stagesUs: { upgrade: number[]; open: number[]; namespace: number[] };
  /** When each was fully accepted. */
  acceptedAtUs: number[];
  refused: Partial<Record<Refusal, number>>;
}

await serve(nothing, async ({ delaysMs, refusals }: SlowHandshakeConfig, truth): Promise<{ url: string }> => {
  const http = createServer();
  const webSockets = new WebSocketServer({ noServer: true });
  let connections = 0;

  http.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const arrivedAtUs = monotonicUs();
    const refusal = refusals[connections++ % refusals.length] ?? null;
    if (refusal) truth().refused[refusal] = (truth().refused[refusal] ?? 0) + 1;
    socket.on('error', () => {});
    if (refusal === 'timeout_upgrade') return;
    if (refusal === 'closed') return void socket.destroy();
    if (refusal === 'http_503') return void socket.end('HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n');
    const upgrade = () => {
      const upgradeUs = monotonicUs() - arrivedAtUs;
      webSockets.handleUpgrade(request, socket, head, (webSocket) => open(webSocket, refusal, upgradeUs));
    };
    if (delaysMs.upgrade === 0) upgrade();
    else setTimeout(upgrade, delaysMs.upgrade);
  });

  function open(webSocket: WebSocket, refusal: Refusal | null, upgradeUs: number): void {
    const upgradedAtUs = monotonicUs();
    if (refusal === 'timeout_open') return;
    setTimeout(() => {
      const openUs = monotonicUs() - upgradedAtUs;
      const handshake = { sid: `w0-${connections}`, upgrades: [], pingInterval: 25_000, pingTimeout: 20_000 };
      webSocket.send(refusal === 'not_engineio' ? 'hello' : `0${JSON.stringify(handshake)}`);
      webSocket.once('message', () => connect(webSocket, refusal, { upgradeUs, openUs }));
    }, delaysMs.open);
  }

  function connect(webSocket: WebSocket, refusal: Refusal | null, waited: { upgradeUs: number; openUs: number }): void {
    const askedAtUs = monotonicUs();
    setTimeout(() => {
      if (refusal === 'namespace_refused') return webSocket.send('44{"message":"no"}');
      const nowUs = monotonicUs();
      const { stagesUs, acceptedAtUs } = truth();
      stagesUs.upgrade.push(waited.upgradeUs);
      stagesUs.open.push(waited.openUs);
      stagesUs.namespace.push(nowUs - askedAtUs);
      acceptedAtUs.push(nowUs);
      webSocket.send('40{"sid":"x"}');
    }, delaysMs.namespace);
  }

  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}` };
});

function nothing(): SlowHandshakeTruth {
  return { stagesUs: { upgrade: [], open: [], namespace: [] }, acceptedAtUs: [], refused: {} };
}
