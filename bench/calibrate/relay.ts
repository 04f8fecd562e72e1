/** A TCP relay that holds back every chunk for a known time, another one in each direction; as a slow link would. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { monotonicUs } from '../../protocol/clock.ts';
import { serve } from './known-process.ts';

export interface RelayConfig {
  toPort: number;
  /** From the server to the client, and back. */
  downMs: number;
  upMs: number;
}

export interface RelayStarted {
  url: string;
}

export interface RelayTruth {
  /** How long after its `sentAtUs` each copy of a broadcast went on to its receiver. */
  downUs: number[];
  /** How long each echo of one was held back; it is masked, so that nothing can be read in it. */
  upUs: number[];
}

/** Handshakes and acknowledgements are smaller. */
const ECHO_MIN_BYTES = 1000;

await serve(async ({ toPort, downMs, upMs }: RelayConfig) => {
  let truth: RelayTruth = { downUs: [], upUs: [] };
  const relay = createServer({ noDelay: true }, (client) => {
    const server = connect({ port: toPort, host: '127.0.0.1', noDelay: true });
    hold(server, client, downMs, (chunk) => {
      const sentAtUs = /"sentAtUs":(\d+)/.exec(chunk.toString('latin1'))?.[1];
      if (sentAtUs) truth.downUs.push(monotonicUs() - Number(sentAtUs));
    });
    hold(client, server, upMs, (chunk, arrivedAtUs) => {
      if (chunk.length >= ECHO_MIN_BYTES) truth.upUs.push(monotonicUs() - arrivedAtUs);
    });
  });
  await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve));
  const started: RelayStarted = { url: `http://127.0.0.1:${(relay.address() as AddressInfo).port}` };
  return {
    started,
    truth: () => {
      const told = truth;
      truth = { downUs: [], upUs: [] };
      return told;
    },
  };
});

/** Timers of one duration fire in the order in which they were set, so that chunks keep theirs. */
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
