import { type BroadcastBatch, NO_RECEIPT_COUNTS } from '../../protocol/result/delivery-schema.ts';
import { type Result, resultSchema } from '../../protocol/result/result.ts';
import { memoryPerConnection } from '../../report/figures/per-connection.ts';
import { answered } from './findings.ts';
import { MB, perfectMemory } from './memory-figures.ts';
import { perfectMessages, summaryOf } from './message-figures.ts';

/** Returns one of several generator hosts. */
export function generatorHost(
  host: string,
  { share = 0.5, p50 = 10, boundMs = 0.21 }: { share?: number; p50?: number; boundMs?: number } = {},
): Result['generators'][number] {
  const oneWayMs = { count: 100, min: 1, mean: p50, p50, p90: p50, p95: p50, p99: p50, p999: null, max: p50 + 4 };
  return {
    machine: { model: 'AMD EPYC', system: 'Linux 6.18', cores: 4, memoryBytes: 16 * 2 ** 30 },
    memoryLimitBytes: null,
    ...{ host, cores: 4, share, arrivals: 100, connections: 100, held: 100, failed: 0, lost: null, oneWayMs },
    cpu: { idlePercent: { ramp: 60, messages: null, broadcasts: 40 } },
    others: [],
    loops: { delayP99Ms: 2.5, delayMaxMs: 9, utilization: 0.4 },
    startSkewMs: share < 0.5 ? 3.2 : 0,
    clock: { offsetMs: 5e8, boundMs },
  };
}

export function perfectBatch(seq: number, receivers: number): BroadcastBatch {
  return {
    seq,
    broadcasts: 1,
    room: 'capacity',
    serverMembers: receivers,
    ...NO_RECEIPT_COUNTS,
    expected: receivers,
    received: receivers,
    earlyByMs: null,
    t: 90 + seq / 5,
    sendDelayMs: 0.2,
    firstMs: 1.25,
    p50Ms: 12.5,
    p99Ms: 40,
    lastMs: 55.5,
    dueToLastMs: 55.5,
  };
}

/** Returns a result without findings, whose hold contains a ping of each connection, so that the CPU per ping is known. */
export function resultWithPings(): Result {
  const result = perfectResult();
  const hold = [
    { name: 'hold', t: 60 },
    { name: 'broadcasts', t: 85.1 },
  ];
  const { worker, nginx } = result.cpu;
  const intervals = {
    rampSecondsPerThousandConnects: null,
    idlePercent: null,
    broadcastMicrosecondsPerMessage: null,
    clientMicrosecondsPerMessage: null,
  };
  const ofWorker = { ...intervals, idleConnectionsPercent: { low95: 1.9, high95: 2.3 } };
  const ofNginx = { ...intervals, idleConnectionsPercent: { low95: 0.35, high95: 0.45 } };
  Object.assign(worker ?? {}, { intervals: ofWorker });
  Object.assign(nginx ?? {}, { intervals: ofNginx });
  return resultSchema.parse({ ...result, stages: hold });
}

/** Returns a perfect result in which each connection sends a batch every second. All batches are acknowledged. */
export function resultWithMessages(): Result {
  const result = perfectResult();
  const ofLayer = { worker: 42.5, nginx: 7.5, redis: null };
  for (const [layer, clientMicrosecondsPerMessage] of Object.entries(ofLayer)) {
    Object.assign(result.cpu[layer] ?? {}, {
      idlePercent: null,
      idleConnectionsPercent: null,
      clientMicrosecondsPerMessage,
    });
  }
  return resultSchema.parse({ ...result, messages: perfectMessages() });
}

const NOT_MEASURED = { clientMicrosecondsPerMessage: null, intervals: null };

/**
 * Returns the result of a run with 5,000 connections in which every copy was received. It is validated, and callers may
 * modify it.
 */
export function perfectResult(): Result {
  const batches = Array.from({ length: 12 }, (_, index) => perfectBatch(index + 1, 5000));
  const result = resultSchema.parse({
    schemaVersion: 4,
    run: {
      id: '20260102-030405-5k',
      scenario: 'scenarios/5k.yml',
      startedAt: '2026-01-02T03:04:05.000Z',
      endedAt: '2026-01-02T03:06:05.000Z',
      target: 'http://127.0.0.1:8080',
      profile: 'full',
      missing: [],
      engine: 'socketio-capacity',
      complete: true,
    },
    answer: { title: 'Passed', cause: null, machine: '', lines: [] },
    outcome: { status: 'PASSED', thresholds: [] },
    verdict: { status: 'VALID' },
    findings: [],
    absent: {},
    fault: null,
    messages: null,
    http: null,
    otherUsers: null,
    functions: null,
    eventCounts: [],
    processes: null,
    generators: [],
    workers: [],
    workerMachines: [],
    workersOverTime: [],
    thresholds: [],
    stages: [],
    connections: {
      target: 5000,
      peak: 5000,
      failed: 0,
      failures: {},
      failureExamples: {},
      asked: 5000,
      notOpened: {},
      opened: 5000,
      closed: 0,
      held: 5000,
      lost: {},
      ends: [],
      skipped: 0,
      meanStaySeconds: null,
      unknownAcks: 0,
      acks: 0,
      ackErrors: {},
      reconnection: null,
      overTime: null,
      tlsHandshakes: null,
      retries: 0,
      disconnects: {},
      configuredRatePerSec: 500,
      achievedRatePerSec: 499.2,
      rampSeconds: 10.01,
      connectMs: summaryOf(5000, 4.2),
      stagesMs: { tcp: summaryOf(5000, 0.4) },
      transports: { configured: 'websocket', websocket: 5000, upgraded: 0, polling: 0, upgradeFailures: {} },
      compression: { asked: false, granted: 0, byServer: false },
      perWorker: { 'worker-0': 2500, 'worker-1': 2500 },
    },
    delivery: {
      source: 'contract',
      event: 'broadcast',
      publisher: 'worker',
      payloadBytes: 1000,
      binary: false,
      broadcasts: 12,
      unconfirmed: 0,
      unknown: 0,
      unreadable: 0,
      unknownBroadcast: 0,
      outside: null,
      rooms: null,
      unreachedGroup: null,
      losses: null,
      ...NO_RECEIPT_COUNTS,
      expected: 60_000,
      received: 60_000,
      late: 0,
      frames: 60_000,
      coverage: 1,
      coverageOfTarget: 1,
      batches,
    },
    latency: {
      from: 'server',
      slowFirst: null,
      clocks: [],
      oneWayMs: summaryOf(60_000, 12.5),
      localMs: summaryOf(30_000, 11.5),
      crossWorkerMs: summaryOf(30_000, 13.5),
      completionMs: summaryOf(12, 55.5),
      intervals: {
        oneWayMs: { p50: { low95: 12, high95: 13.1 }, p99: null },
        completionMs: { p50: { low95: 54, high95: 57 }, p99: null },
      },
      sendDelayMs: summaryOf(12, 0.2),
      sentinelMs: summaryOf(12, 40),
      behindSentinelMs: summaryOf(6, 0.5),
      roundTripHalfMs: { underLoad: summaryOf(12, 14), single: summaryOf(20, 0.35) },
      histograms: {},
    },
    memory: perfectMemory(),
    cpu: {
      nginx: {
        rampSecondsPerThousandConnects: 0.21,
        idlePercent: 0.4,
        idleConnectionsPercent: 0.4,
        broadcastMicrosecondsPerMessage: 3.1,
        ...NOT_MEASURED,
      },
      worker: {
        rampSecondsPerThousandConnects: 0.52,
        idlePercent: 2.3,
        idleConnectionsPercent: 2.1,
        broadcastMicrosecondsPerMessage: 11.4,
        ...NOT_MEASURED,
      },
      redis: {
        rampSecondsPerThousandConnects: 0.01,
        idlePercent: 0.1,
        idleConnectionsPercent: null,
        broadcastMicrosecondsPerMessage: null,
        ...NOT_MEASURED,
      },
    },
    generator: (['ramp', 'broadcasts'] as const).flatMap((window) => [
      {
        window,
        part: 'artillery' as const,
        index: 0,
        engine: '1',
        utilization: 0.21,
        delayP50Ms: 0.1,
        delayP99Ms: 2.3,
        delayMaxMs: 8,
        cpuWaitShare: 0.06,
      },
      {
        window,
        part: 'fleet' as const,
        index: 0,
        engine: '1',
        utilization: 0.34,
        delayP50Ms: 0.2,
        delayP99Ms: 4.5,
        delayMaxMs: 17,
        cpuWaitShare: 0.12,
      },
    ]),
    capacity: {
      memoryLimited: {
        budgetBytes: 2048 * MB,
        connections: 135_475,
      },
      limits: [
        { name: 'workerFileDescriptors', max: 40_000 },
        { name: 'memoryBudget', max: 135_475 },
        { name: 'pings', max: 400_000 },
      ],
      pings: { intervalMs: 25_000, connections: 400_000, low95: 360_000, high95: 450_000 },
      unknown: [],
      lowest: 'workerFileDescriptors',
    },
    redis: {
      version: '7.0.15',
      inBytes: 112_000,
      outBytes: 224_000,
      inBytesPerCopy: 1.12,
      outBytesPerCopy: 2.24,
      cpuMicrosecondsPerCopy: 0.05,
      usedMemoryBeforeBytes: 1.5 * MB,
      usedMemoryBytes: 1.5 * MB,
      rssBytes: 9 * MB,
      outputBufferPeakBytes: 0,
      streamEntries: null,
      nodes: null,
      busiestNodeShare: null,
      channels: 5,
      shardChannels: 0,
      localOnly: 0,
      hosts: null,
      hostBytesPerBroadcast: null,
      hostPacketsPerBroadcast: null,
    },
    machine: {
      cpuIdlePercent: { ramp: 62.5, messages: null, broadcasts: 48 },
      throttled: null,
      others: null,
      swappedInBytes: 0,
      swappedOutBytes: 0,
    },
    sampling: { intervalMs: 1000, taken: 120, missed: 0, longestGapMs: 1012, failures: {} },
    samples: [],
    environment: {
      versions: { node: 'v24.0.0' },
      server: {
        kind: 'tuned',
        tunings: { dropRequest: 'on', leaveOwnRoom: 'off' },
        options: { pingInterval: '25000', nodeFlags: 'none' },
      },
      kernel: 'Linux 6.1',
      cpu: 'a processor',
      cpuCount: 2,
      memoryBytes: 8192 * MB,
      limits: { openFilesHard: 20_000 },
      sysctls: { 'net.ipv4.ip_local_port_range': '32768 60999' },
      configHash: '00',
      settings: {},
      gitCommit: null,
    },
  } satisfies Result);
  result.memory.perConnection = memoryPerConnection(result);
  return answered(result);
}
