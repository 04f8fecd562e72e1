/**
 * WebSocket to which a polling session tries to upgrade. It exchanges a ping and a pong as a probe; then the session
 * uses it.
 */
import type { ClientOptions } from '../../client/client.ts';
import type { ConnectionFailure } from '../../client/failure.ts';
import type { ConnectionPool } from '../pool.ts';
import { engineIoError } from '../protocol-error.ts';
import { encodeFrame, WEBSOCKET_OPCODE } from '../websocket/frames.ts';
import { WebSocketConnection } from '../websocket/websocket.ts';
import type { UpgradePlan } from '../websocket/websocket-handshake.ts';

export interface UpgradeProbeListener {
  /** Called when the server has answered the probe's ping. */
  onProbed(): void;
  onProbeFailed(failure: ConnectionFailure): void;
}

const PING = encodeFrame(WEBSOCKET_OPCODE.text, '2probe');
const PONG = Buffer.from('3probe');

export class UpgradeProbe extends WebSocketConnection {
  readonly #listener: UpgradeProbeListener;
  readonly #plan: UpgradePlan;

  constructor(listener: UpgradeProbeListener, shared: ConnectionPool, plan: UpgradePlan, options: ClientOptions) {
    super(options, shared);
    this.#listener = listener;
    this.#plan = plan;
  }

  /** Microseconds since the probe began to connect. */
  get elapsedUs(): number {
    return this.attempt?.elapsedUs() ?? 0;
  }

  protected override plan(): UpgradePlan {
    return this.#plan;
  }

  protected override onUpgraded(): void {
    this.write(PING);
  }

  protected override onText(bytes: Buffer, start: number, end: number): void {
    if (!PONG.equals(bytes.subarray(start, end))) throw engineIoError('an answer to the probe other than 3probe');
    this.#listener.onProbed();
  }

  protected override onBinary(): void {
    throw engineIoError('a binary answer to the probe');
  }

  protected override onFailed(failure: ConnectionFailure): void {
    this.#listener.onProbeFailed(failure);
  }

  /** Never called, because the probe is never `open`: every end before the upgrade is a failed attempt. */
  protected override onClosed(): void {}
}
