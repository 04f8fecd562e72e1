/** A ClientSink that records every report, and lets a test wait for a report. */
import { EventEmitter, once } from 'node:events';
import type { ClientOptions, ClientSink, ConnectTimings } from '../../plugin/fleet/client/client.ts';

export type Report =
  | { on: 'open'; namespace: string; sessionId: string; timings: ConnectTimings | undefined }
  | { on: 'upgraded'; tookUs: number }
  | { on: 'upgrade failed'; cause: string; message: string }
  | { on: 'refused'; namespace: string; message: string; data: unknown }
  | { on: 'failed'; cause: string; message: string }
  | { on: 'copy'; id: string | number; sentAt: unknown; receivedAtUs: number }
  | { on: 'event'; namespace: string; event: string; args: unknown[] }
  | { on: 'unreadable'; example?: string | undefined }
  | { on: 'unknown ack' }
  | { on: 'ack'; namespace: string; ackId: number; args: unknown[] }
  | { on: 'closed'; reason: string; namespace: string | undefined };

export class RecordingSink implements ClientSink {
  readonly reports: Report[] = [];
  readonly #reported = new EventEmitter();

  /**
   * Waits until there are `count` reports of this kind.
   * @returns the last of them
   */
  async next<K extends Report['on']>(on: K, count = 1): Promise<Extract<Report, { on: K }>> {
    for (;;) {
      const found = this.all(on)[count - 1];
      if (found) return found;
      await once(this.#reported, 'report');
    }
  }

  all<K extends Report['on']>(on: K): Extract<Report, { on: K }>[] {
    return this.reports.filter((report): report is Extract<Report, { on: K }> => report.on === on);
  }

  onOpen: ClientSink['onOpen'] = (namespace, sessionId, timings) =>
    this.#add({ on: 'open', namespace, sessionId, timings });
  onUpgraded: ClientSink['onUpgraded'] = (tookUs) => this.#add({ on: 'upgraded', tookUs });
  onUpgradeFailed: ClientSink['onUpgradeFailed'] = ({ cause, message }) =>
    this.#add({ on: 'upgrade failed', cause, message });
  onRefused: ClientSink['onRefused'] = (namespace, message, data) =>
    this.#add({ on: 'refused', namespace, message, data });
  onFailed: ClientSink['onFailed'] = ({ cause, message }) => this.#add({ on: 'failed', cause, message });
  onCopy: ClientSink['onCopy'] = (id, receivedAtUs, copy) =>
    this.#add({ on: 'copy', id, sentAt: copy.sentAt(), receivedAtUs });
  onUnreadable: ClientSink['onUnreadable'] = (json) => this.#add({ on: 'unreadable', example: json?.() });
  onEvent: ClientSink['onEvent'] = (namespace, event, args) => this.#add({ on: 'event', namespace, event, args });
  onAck: ClientSink['onAck'] = (namespace, ackId, args) => this.#add({ on: 'ack', namespace, ackId, args });
  onUnknownAck: ClientSink['onUnknownAck'] = () => this.#add({ on: 'unknown ack' });
  onClosed: ClientSink['onClosed'] = (reason, namespace) => this.#add({ on: 'closed', reason, namespace });

  #add(report: Report): void {
    this.reports.push(report);
    this.#reported.emit('report');
  }
}

export function clientOptions(overrides: Partial<ClientOptions> = {}): ClientOptions {
  return {
    url: 'http://127.0.0.1',
    path: '/socket.io/',
    transports: ['websocket'],
    query: {},
    headers: {},
    auth: undefined,
    tls: {},
    connectTimeoutMs: 5000,
    localAddress: undefined,
    ...overrides,
  };
}
