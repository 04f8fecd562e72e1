/** A TCP relay that delays every chunk, by a different known time in each direction, like a slow link. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { monotonicUs } from '../../protocol/clock/clock.ts';
import { serve } from './known-process.ts';

export interface RelayConfig {
  /** By default on this machine's loopback. */
  toHost?: string;
  toPort: number;
  /** Where it listens: by default, on a free port of loopback. */
  host?: string;
  port?: number;
  /** From server to client, and from client to server. */
  downMs: number;
  upMs: number;
}

export interface RelayTruth {
  /** How long after its `sentAtUs` each copy of a broadcast was forwarded. */
  downUs: number[];
  /** How long each echo was delayed; echoes are masked, so their content cannot be read. */
  upUs: number[];
}

/** Handshakes and acknowledgements are smaller. */
const ECHO_MIN_BYTES = 1000;

const nothing = (): RelayTruth => ({ downUs: [], upUs: [] });

await serve(nothing, async (config: RelayConfig, truth): Promise<{ url: string }> => {
  const { toHost = '127.0.0.1', toPort, host = '127.0.0.1', port = 0, downMs, upMs } = config;
  const relay = createServer({ noDelay: true }, (client) => {
    const server = connect({ port: toPort, host: toHost, noDelay: true });
    hold(server, client, downMs, (chunk) => {
      const sentAtUs = /"sentAtUs":(\d+)/.exec(chunk.toString('latin1'))?.[1];
      if (sentAtUs) truth().downUs.push(monotonicUs() - Number(sentAtUs));
    });
    hold(client, server, upMs, (chunk, arrivedAtUs) => {
      if (chunk.length >= ECHO_MIN_BYTES) truth().upUs.push(monotonicUs() - arrivedAtUs);
    });
  });
  await new Promise<void>((resolve) => relay.listen(port, host, resolve));
  return { url: `http://${host}:${(relay.address() as AddressInfo).port}` };
});

/** Timers of the same duration fire in the order in which they were set, so chunks keep their order. */
function hold(from: Socket, to: Socket, holdMs: number, before: (chunk: Buffer, arrivedAtUs: number) => void): void {
  from.on('data', (chunk) => {
    const arrivedAtUs = monotonicUs();
    setTimeout(() => {
      before(chunk, arrivedAtUs);
      to.write(chunk);
    }, holdMs);
  });
  from.on('error', () => {});
  from.on('close', () => to.destroy());
}
