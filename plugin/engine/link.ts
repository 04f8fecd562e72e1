/** The engine's end of the line to the hook in the main thread. */
import { BroadcastChannel } from 'node:worker_threads';
import type { ErrorCode } from '../../protocol/error-codes.ts';
import { type EngineMessage, type FleetSnapshot, type HookMessage, linkChannelName } from '../../protocol/link.ts';
import { EventLoopWatch } from '../fleet/health.ts';
import { mergeSnapshots } from '../fleet/merge.ts';
import { type FleetLike, newTally, type Tally } from './run.ts';
import type { Signals } from './signals.ts';
import { warmUp } from './warm-up.ts';

const STATUS_INTERVAL_MS = 250;

/** Absent when no scenario of the script runs on this engine. */
export interface Reported {
  fleet: FleetLike;
  tally: Tally;
}

export interface LinkOptions {
  testRunId: string;
  engineId: string;
  signals: Signals;
  /** Closes everything the engine has opened. */
  close: () => Promise<void>;
}

export class Link {
  readonly #options: LinkOptions;
  readonly #channel: BroadcastChannel;
  readonly #eventLoop = new EventLoopWatch();
  #reported: Reported | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#channel = new BroadcastChannel(linkChannelName(options.testRunId));
    this.#channel.onmessage = (event) => void this.#receive((event as { data: HookMessage }).data);
    // A worker ends when Artillery says so, not when nobody writes to it any more.
    (this.#channel as unknown as { unref(): void }).unref();
  }

  /** Says that the fleet stands; the hook answers with `start`. */
  ready(reported: Reported | undefined): void {
    this.#reported = reported;
    this.#post({ type: 'ready', engineId: this.#options.engineId });
    if (reported) this.#timer = setInterval(() => this.#sendStatus(reported), STATUS_INTERVAL_MS).unref();
  }

  failed(code: ErrorCode, message: string, fix: string): void {
    this.#post({ type: 'failed', engineId: this.#options.engineId, code, message, fix });
  }

  close(): void {
    clearInterval(this.#timer);
    this.#isClosed = true;
    this.#eventLoop.close();
    this.#channel.close();
  }

  async #receive(message: HookMessage): Promise<void> {
    const { signals, engineId } = this.#options;
    const reported = this.#reported;
    switch (message.type) {
      case 'start':
      case 'release':
      case 'finish':
        return signals[message.type].resolve();
      case 'warm-up': {
        const failure = reported && (await warmUp(reported.fleet, message.order));
        return this.#post({ type: 'warmed', engineId, requestId: message.requestId, failure });
      }
      case 'snapshot': {
        const snapshot = await snapshotOf(reported, this.#eventLoop);
        return this.#post({ type: 'snapshot', engineId, requestId: message.requestId, snapshot });
      }
      case 'freeze': {
        const rows = (await reported?.fleet.freeze(message.broadcasts)) ?? [];
        return this.#post({ type: 'frozen', engineId, requestId: message.requestId, rows });
      }
      case 'close':
        await this.#options.close();
        this.#post({ type: 'closed', engineId, requestId: message.requestId });
        return this.close();
    }
  }

  #sendStatus({ fleet, tally }: Reported): void {
    const { started, toOpen, holding, failed } = tally;
    const status = { ...fleet.status(), started, toOpen, holding, failed };
    this.#post({ type: 'status', engineId: this.#options.engineId, status });
  }

  #post(message: EngineMessage): void {
    // What was under way when the run ended, as a warm-up, has nobody to tell any more; a closed channel would throw.
    if (!this.#isClosed) this.#channel.postMessage(message);
  }
}

async function snapshotOf(reported: Reported | undefined, eventLoop: EventLoopWatch): Promise<FleetSnapshot> {
  const { attemptFailures: _, ...merged } = reported ? await reported.fleet.snapshot() : mergeSnapshots([]);
  const { retries, reconnects, failures } = reported?.tally ?? newTally();
  return { ...merged, engineLoop: eventLoop.read(), retries, reconnects, failures: { ...failures } };
}
