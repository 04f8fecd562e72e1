/** The two lower layers of the light client, each with nothing above it but a list of what it reported. */
import { EventEmitter, once } from 'node:events';
import type { Failure } from '../../plugin/fleet/client/failure.ts';
import { EngineIoConnection } from '../../plugin/fleet/light/engine-io/engine-io.ts';
import { encodeMessage, OPCODE } from '../../plugin/fleet/light/websocket/frames.ts';
import { planUpgrade, type UpgradePlan } from '../../plugin/fleet/light/websocket/handshake.ts';
import { WebSocketConnection } from '../../plugin/fleet/light/websocket/websocket.ts';

class Reports {
  /** The report's name, and what came with it. */
  readonly all: unknown[][] = [];
  receivedBytes = 0;
  sentBytes = 0;
  readonly #reported = new EventEmitter();

  add(...report: unknown[]): void {
    this.all.push(report);
    this.#reported.emit('report');
  }

  /** Waits for the first report of this name, or a later one. @returns what came with it */
  async next(name: string, number = 1): Promise<unknown[]> {
    for (;;) {
      const found = this.all.filter(([first]) => first === name)[number - 1];
      if (found) return found.slice(1);
      await once(this.#reported, 'report');
    }
  }

  onTraffic(receivedBytes: number, sentBytes: number): void {
    this.receivedBytes += receivedBytes;
    this.sentBytes += sentBytes;
  }
}

// biome-ignore lint/suspicious/noExplicitAny: what TypeScript requires of the constructor of a mixin's base
type Layer = abstract new (...args: any[]) => WebSocketConnection;

/** What both layers report in the same way. */
function reporting<Base extends Layer>(base: Base) {
  abstract class Reporting extends base {
    readonly reports = new Reports();

    connect(): void {
      this.dial();
    }

    protected override onFailed({ cause }: Failure): void {
      this.reports.add('failed', cause);
    }
    protected override onClosed(reason: string): void {
      this.reports.add('closed', reason);
    }
    protected override onLeft(): void {
      this.reports.add('left');
    }
    override onTraffic(receivedBytes: number, sentBytes: number): void {
      this.reports.onTraffic(receivedBytes, sentBytes);
    }
  }
  return Reporting;
}

/** Open as soon as the server has agreed to WebSocket. Asks for the URL's own path. */
export class PlainWebSocket extends reporting(WebSocketConnection) {
  send(message: string | Uint8Array): void {
    this.write(encodeMessage(typeof message === 'string' ? OPCODE.text : OPCODE.binary, message, this.deflate));
  }

  protected override plan(): UpgradePlan {
    const { pathname, search } = new URL(this.options.url);
    return planUpgrade(this.options, pathname + search);
  }
  protected override onUpgraded(): void {
    this.deadlineMs = 0;
    this.opened();
    this.reports.add('open');
  }
  protected override onText(bytes: Buffer, start: number, end: number): void {
    this.reports.add('text', bytes.toString('utf8', start, end));
  }
  protected override onBinary(bytes: Buffer, start: number, end: number): void {
    this.reports.add('binary', Buffer.from(bytes.subarray(start, end)));
  }
}

/** Open as soon as Engine.IO's handshake is done. */
export class PlainEngineIo extends reporting(EngineIoConnection) {
  send(...messages: (string | Uint8Array)[]): void {
    this.sendMessages(messages);
  }

  protected override onSession(): void {
    this.deadlineMs = 0;
    this.opened();
    this.reports.add('open', this.sessionId);
  }
  protected override onMessage(bytes: Buffer, start: number, end: number): void {
    this.reports.add('message', bytes.toString('utf8', start, end));
  }
  protected override onBinaryMessage(bytes: Buffer, start: number, end: number): void {
    this.reports.add('binary message', Buffer.from(bytes.subarray(start, end)));
  }
}
