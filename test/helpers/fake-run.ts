/**
 * Simulated parts of a run, without processes or sockets. The test plays server, engines and virtual users, and can
 * replace any function.
 */

import { setTimeout as wait } from 'node:timers/promises';
import type { CodedFindingDetail } from '../../plugin/findings/check.ts';
import { observedFindings } from '../../plugin/findings/checks/observed/observed.ts';
import type { RunContext } from '../../plugin/run/context.ts';
import { NO_STATUS } from '../../plugin/run/link.ts';
import type { Measurements } from '../../plugin/run/measurements/measurements.ts';
import { deploymentPartsOf } from '../../plugin/run/measurements/worker-identity.ts';
import { FleetPopulation } from '../../plugin/run/population.ts';
import { WorkerClocks } from '../../plugin/run/target/worker-clocks.ts';
import { absenceOf, NotInRunError } from '../../plugin/samplers/absence.ts';
import { LAYERS } from '../../plugin/samplers/layers/index.ts';
import type { Script } from '../../plugin/script/script.ts';
import { monotonicUs } from '../../protocol/base/clock/clock.ts';
import { thisHost } from '../../protocol/base/machine/this-host.ts';
import { VERSION } from '../../protocol/base/version.ts';
import type { MessageCounts, MessageStage } from '../../protocol/link/client-messages.ts';
import type { FleetStatus } from '../../protocol/link/snapshot.ts';
import { CLIENT_DISCONNECT_REASON } from '../../protocol/wire/connection.ts';
import type { BroadcastRequest, WorkerStats } from '../../protocol/wire/events.ts';
import { roomName } from '../../protocol/wire/rooms.ts';
import { frozenBroadcast, hookConfig, measurements, NO_RECEIPTS, snapshot } from './measurements.ts';
import { readingsOf } from './readings.ts';
import { assertValues } from './verdict.ts';

const ROUND_TRIP_US = 2000;
const WARM_UP_MS = 300;
/** Constant CPU use of every process, in percent. */
const CPU_PERCENT = 10;

export class FakeRun {
  readonly context: RunContext;
  readonly measurements: Measurements;
  readonly stop = new AbortController();
  /** Connections of other users that only the server counts. */
  others = 0;
  /** Connections of other users that worker w0 has accepted. */
  strangers = 0;
  /** Acknowledgement of an echo. The probe itself measures 2 ms. */
  echo: { roundTripUs: number; sentAtUs?: number } = { roundTripUs: ROUND_TRIP_US };
  /** Number of collections of w0 and w1. */
  collections = [0, 0];
  readonly #lost = { engines: new Set<string>(), reached: 0 };
  left = 0;
  readonly status: FleetStatus = { ...NO_STATUS };
  /** Requests to the parts, in order: `gc`, `snapshots`, `tell release`, … */
  readonly asked: string[] = [];
  /** Counts of the messages that clients send. */
  messages = (_stage: MessageStage): MessageCounts => ({ sent: 0, unanswered: 0, skippedByServer: 0 });

  /**
   * @param options options of the plugin
   * @param scenario the `config` of the script, such as `phases`
   * @param script other parts of the script, such as `scenarios`
   */
  constructor(options: object = {}, scenario: object = {}, script: Partial<Script> = {}) {
    const config = hookConfig(options, scenario, {}, script);
    this.measurements = measurements({ receiversRoom: roomName(config.rooms, 0) });
    const link = this.#link();
    const control = this.#control();
    this.context = {
      config,
      measurements: this.measurements,
      link,
      control,
      collector: control,
      profiler: undefined,
      sampler: this.#sampler(),
      resources: { begin: async () => {}, end: async () => {} },
      probe: {
        worker: 'w0',
        onRoundTrip: () => {},
        ending: undefined,
        connected: true,
        leftAtUs: undefined,
        receivedAtUs: undefined,
        join: async (room) => void this.asked.push(`probe joins ${room}`),
      },
      sentinel: undefined,
      publishers: undefined,
      clients: {
        nextTemporary: () => ({ connection: config.connection }),
        nextReceiver: () => ({ connection: config.connection }),
        areUsers: false,
      },
      population: new FleetPopulation(link),
      metrics: {},
      redis: undefined,
      target: { stack: undefined },
      deployment: async () => ({
        ...deploymentPartsOf('nginx', { nginx: '7,8' }),
        ...deploymentPartsOf('redis', { Redis: 'run-1' }),
      }),
      ledger: true,
      clocks: this.#newClocks(control, [true, true]),
      holds: true,
      signal: this.stop.signal,
    };
  }

  /**
   * Moves both workers to other hosts.
   * @param clock returns the clock of the worker with this index
   */
  apart(clock: RunContext['control']['clock']): void {
    this.context.control.clock = clock;
    this.context.clocks = this.#newClocks(this.context.control, [false, false]);
  }

  #newClocks(control: RunContext['control'], here: boolean[]): WorkerClocks {
    const clocks = new WorkerClocks(control, here);
    this.measurements.clocks = clocks.lines;
    return clocks;
  }

  get codes(): string[] {
    return this.noticed.map(({ code }) => code);
  }

  /** Findings that follow from the observations of the run. */
  get noticed(): CodedFindingDetail[] {
    const found = observedFindings(this.measurements.observations);
    for (const finding of found) assertValues(finding);
    return found;
  }

  /** Connects virtual users, which join and hold. */
  arrive(count: number): void {
    this.status.started += count;
    this.status.opened += count;
    this.#hold(count);
  }

  /** Makes virtual users close their connections. */
  leave(count: number): void {
    this.left += count;
    this.status.ended = { [CLIENT_DISCONNECT_REASON]: this.left };
    this.#hold(-count);
  }

  /** Loses a host with this number of members. The host had reported this number of first copies. */
  lose(members: number, reached: number): void {
    this.#hold(-members);
    this.#lost.engines.add('2');
    this.#lost.reached = reached;
  }

  #hold(more: number): void {
    for (const key of ['connected', 'joined', 'holding'] as const) this.status[key] += more;
  }

  /** Simulates a garbage collection: raises its count in both workers. */
  collect(): void {
    this.collections = this.collections.map((count) => count + 1);
  }

  #link(): RunContext['link'] {
    const [status, lost] = [this.status, this.#lost];
    return {
      status,
      get reached() {
        return new Map([['1', status.reached - lost.reached]]);
      },
      gone: lost.engines,
      statusOf: () => this.status,
      unanswered: 0,
      silentHosts: new Set(),
      warmUp: async ({ connections }) => {
        this.asked.push(`warm-up of ${connections}`);
        await wait(WARM_UP_MS);
      },
      snapshots: async () => {
        this.asked.push('snapshots');
        const { started, connected } = this.status;
        const { ended } = this.status;
        const accounts = {
          asked: started,
          pending: 0,
          alive: connected,
          peak: 0,
          failed: {},
          ended: { ...ended },
          returned: 0,
        };
        const receipts = { ...NO_RECEIPTS, received: this.status.received };
        const transports = { websocket: connected, upgraded: 0, polling: 0 };
        return [snapshot({ connected, transports, accounts, receipts })];
      },
      freeze: async (orders) => {
        this.asked.push(`freeze ${orders.map(({ seq }) => seq).join()}`);
        return orders.map(({ seq }) => frozenBroadcast(seq, Array<number>(this.status.joined).fill(ROUND_TRIP_US / 2)));
      },
      sight: async () => [],
      fault: async ({ stage }) => void this.asked.push(`fault ${stage}`),
      events: async () => [],
      messages: async (stage) => {
        this.asked.push(`messages ${stage}`);
        return this.messages(stage);
      },
      tell: (message) => {
        this.asked.push(`tell ${message.type}`);
        if (message.type === 'release') this.leave(this.status.connected);
      },
    };
  }

  #control(): RunContext['control'] {
    return {
      size: 2,
      stats: async () => {
        const workers = [workerStats('w0', 1 + this.others), workerStats('w1', this.status.connected)];
        return workers.map((worker, index) => ({
          ...worker,
          collections: this.collections[index] ?? 0,
          accepted: index === 0 ? this.strangers : this.status.started,
        }));
      },
      statsOfUp: () => this.context.control.stats(),
      failures: () => [],
      resources: async () => [],
      batches: async () => {
        this.asked.push('batches');
        return [];
      },
      eventLoops: async () => [],
      gc: async () => {
        this.asked.push('gc');
        this.collect();
      },
      clock: async () => ({ atUs: monotonicUs(), offsetUs: 0, uncertaintyUs: 10 }),
      members: async () => this.status.joined,
      servers: async () => 2,
      addresses: async () => ({}),
      reachable: (via) => via,
      broadcast: async (order, via) => {
        const sentAtUs = order.atUs ?? monotonicUs();
        await wait((sentAtUs - monotonicUs()) / 1000);
        return { seq: order.seq, sentAtUs, worker: `w${via}`, expected: this.#deliver(order) };
      },
    };
  }

  /** @returns the number of members of the room */
  #deliver({ room, seq }: BroadcastRequest): number {
    const { probe, config } = this.context;
    if (room.endsWith(':warm-up')) return 0;
    const sentAtUs = monotonicUs();
    const seen = { seq, sentAtUs, receivedAtUs: sentAtUs + 1500, acknowledgedAtUs: sentAtUs + 2500 };
    setTimeout(() => probe.onRoundTrip({ ...seen, ...this.echo }), ROUND_TRIP_US / 1000);
    if (room !== config.room) return 1;
    this.status.received += this.status.joined;
    this.status.reached += this.status.joined;
    return this.status.joined + 1;
  }

  #sampler(): RunContext['sampler'] {
    return {
      layers: LAYERS,
      samples: [],
      incompleteCpu: new Set(),
      workers: () => [],
      start: () => void this.asked.push('sampler starts'),
      seconds: () => performance.now() / 1000,
      reading: async () => ({
        ...readingsOf({ workerPss: 1e6 + this.status.connected * 1000 }),
        nginxPss: { absent: absenceOf(new NotInRunError('none of its processes is known on this machine')) },
      }),
      counts: async () => ({ workerConnections: this.status.connected }),
      cpu: async () => ({ worker: performance.now() * 1000 * (CPU_PERCENT / 100) }),
      health: () => ({ intervalMs: 1000, taken: 0, missed: 0, longestGapMs: 0, failures: {}, failureExamples: {} }),
      swapped: () => undefined,
      close: async () => void this.asked.push('sampler ends'),
    };
  }
}

export function workerStats(worker: string, connections: number): WorkerStats {
  return {
    worker,
    instance: worker,
    version: VERSION,
    pid: Number(worker.slice(1)) + 100,
    host: thisHost(),
    uptimeSeconds: performance.now() / 1000,
    connections,
    accepted: 0,
    rooms: 0,
    broadcasts: 0,
    rssBytes: 0,
    heapUsedBytes: 0,
    externalBytes: 0,
    cpuUserUs: 0,
    cpuSystemUs: 0,
    eventLoop: { utilization: 0, delayP50Ms: 0, delayP99Ms: 0, delayMaxMs: 0 },
    versions: { node: '', socketIo: '', adapter: '', webSocketEngine: '' },
    collections: 0,
    server: { kind: 'own', tunings: {}, options: {} },
  };
}
