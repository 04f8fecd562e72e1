/** Figures of the studies, as they are printed there. Nothing here was measured by us. */

/** One size of the published benchmark report. */
export interface PublishedSize {
  connections: number;
  configuredRatePerSec: number;
  achievedRatePerSec: number;
  rampSeconds: number;
  meanConnectMs: number;
  /** Peak RSS of the server. */
  peakMb: number;
  kbPerConnection: number;
  theoreticalMax: number;
  grade: string;
  /** [connections, RSS of the server in MB]. */
  ram: [connections: number, mb: number][];
  broadcasts: number;
  received: number;
  /** As its row “Message Delivery Rate” says. */
  deliveryPercent: number;
  kbReceivedPerConnection: number;
  /** Of one broadcast, in its table by batch. */
  expectedPerBroadcast: number;
  /** Of ten broadcasts. */
  batchesReceived: number[];
}

export const PUBLISHED_SIZES: PublishedSize[] = [
  {
    connections: 5000,
    configuredRatePerSec: 500,
    achievedRatePerSec: 287.97,
    rampSeconds: 17.36,
    meanConnectMs: 1094,
    peakMb: 286,
    kbPerConnection: 59,
    theoreticalMax: 35800,
    grade: 'A+',
    ram: [
      [0, 125.78],
      [1000, 136.36],
      [2500, 169.86],
      [4000, 210.86],
      [5000, 222.53],
    ],
    broadcasts: 120,
    received: 599_880,
    deliveryPercent: 100,
    kbReceivedPerConnection: 585.7,
    expectedPerBroadcast: 4999,
    batchesReceived: [4999, 4999, 4999, 4999, 4999, 4999, 4999, 4999, 4999, 4999],
  },
  {
    connections: 10_000,
    configuredRatePerSec: 500,
    achievedRatePerSec: 291.39,
    rampSeconds: 34.32,
    meanConnectMs: 1013,
    peakMb: 379.5,
    kbPerConnection: 39,
    theoreticalMax: 53_973,
    grade: 'A+',
    ram: [
      [0, 201.55],
      [1000, 166.48],
      [2500, 175.5],
      [4000, 194.84],
      [5000, 211.38],
      [6500, 240.47],
      [8000, 293.3],
      [9500, 308.77],
      [10_000, 318.28],
    ],
    broadcasts: 118,
    received: 1_169_883,
    deliveryPercent: 99.2,
    kbReceivedPerConnection: 585.76,
    expectedPerBroadcast: 9999,
    batchesReceived: [9999, 9999, 9999, 9999, 9999, 9999, 9999, 9999, 9999, 9999],
  },
  {
    connections: 20_000,
    configuredRatePerSec: 500,
    achievedRatePerSec: 280.19,
    rampSeconds: 71.38,
    meanConnectMs: 1078,
    peakMb: 543.6,
    kbPerConnection: 28,
    theoreticalMax: 75_355,
    grade: 'A+',
    ram: [
      [0, 87.3],
      [6000, 238.98],
      [10_309, 340.03],
      [15_000, 411.09],
      [20_000, 541.14],
    ],
    broadcasts: 55,
    received: 1_079_946,
    deliveryPercent: 98.2,
    kbReceivedPerConnection: 585.79,
    expectedPerBroadcast: 19_999,
    batchesReceived: [19_999, 19_999, 19_600, 19_999, 19_999, 19_999, 19_600, 19_999, 19_999, 19_999],
  },
  {
    connections: 32_000,
    configuredRatePerSec: 500,
    achievedRatePerSec: 200.08,
    rampSeconds: 159.94,
    meanConnectMs: 1552,
    peakMb: 745.7,
    kbPerConnection: 24,
    theoreticalMax: 87_881,
    grade: 'A',
    ram: [
      [0, 125.5],
      [8000, 280.53],
      [12_000, 340.36],
      [15_000, 411.09],
      [20_000, 541.14],
      [29_677, 658.11],
      [32_000, 745.7],
    ],
    broadcasts: 100,
    received: 2_966_462,
    deliveryPercent: 77.3,
    kbReceivedPerConnection: 452.56,
    expectedPerBroadcast: 31_999,
    batchesReceived: [31_999, 31_999, 31_999, 31_999, 31_999, 31_500, 29_900, 27_700, 26_000, 24_700],
  },
];

/** The Techracers study, 2017: one Socket.IO process, nginx and Redis on a machine with one core and 1 GB. */
export const TECHRACERS = {
  connections: 1800,
  ratePerSec: 5,
  systemMb: { before: 360, after: 493, perConnection: 0.0739 },
  nodeMb: { before: 90, after: 152, perConnection: 0.034 },
  redisMbPerConnection: 0.039,
  peakCpuPercent: 7.9,
  idleCpuPercent: 1.2,
  /** What the broadcasts had to keep to. */
  promptMs: 300,
};

/** A row of Raccoon's table. Memory as [from, to]; its text columns are left as they are. */
export interface RaccoonRun {
  version: string;
  duration: string;
  connections: number;
  pods: number;
  eventsPer10s: number;
  serverLatency: { p95: string; upper: string };
  workersLatency: { meanP95: string; maxUpper: string };
  memoryPerPodMb: [from: number, to: number];
  coresPerPod: string;
}

export const RACCOON: RaccoonRun[] = [
  {
    version: 'v0.1.0',
    duration: '1 hour',
    connections: 10_000,
    pods: 1,
    eventsPer10s: 1_500_000,
    serverLatency: { p95: '~ 6 - 22 ms', upper: '~ 3 - 913 ms' },
    workersLatency: { meanP95: '~ 1.7 - 7 ms', maxUpper: '~ 2 - 140 ms' },
    memoryPerPodMb: [711, 870],
    coresPerPod: '~ 2.2',
  },
  {
    version: 'v0.1.0',
    duration: '1 hour',
    connections: 50_000,
    pods: 3,
    eventsPer10s: 25_000,
    serverLatency: { p95: '~ 20 - 30 ms', upper: '~ 3 s' },
    workersLatency: { meanP95: '~ 35 - 50 ms', maxUpper: '~ 35 - 45 ms' },
    memoryPerPodMb: [1000, 1500],
    coresPerPod: '~ 0.3 - 0.6',
  },
  {
    version: 'v0.1.0',
    duration: '1 hour',
    connections: 50_000,
    pods: 3,
    eventsPer10s: 100_000,
    serverLatency: { p95: '~ 3 - 5 ms', upper: '~ 2.5 s' },
    workersLatency: { meanP95: '~ 20 - 30 ms', maxUpper: '~ 20 - 30 ms' },
    memoryPerPodMb: [400, 500],
    coresPerPod: '~ 0.7',
  },
  {
    version: 'v0.1.0',
    duration: '1 hour',
    connections: 100_000,
    pods: 5,
    eventsPer10s: 100_000,
    serverLatency: { p95: '~ 3 - 9 ms', upper: '~ 2.5 s' },
    workersLatency: { meanP95: '~ 20 - 30 ms', maxUpper: '~ 20 - 30 ms' },
    memoryPerPodMb: [1700, 2000],
    coresPerPod: '~ 1',
  },
  {
    version: 'v0.1.2',
    duration: '30 min',
    connections: 10_000,
    pods: 1,
    eventsPer10s: 1_500_000,
    serverLatency: { p95: '~ 1 - 7.13k ms', upper: '~ 1 - 7.13k ms' },
    workersLatency: { meanP95: '~ 0.8 - 9.25 ms', maxUpper: '~ 2 - 224 ms' },
    memoryPerPodMb: [960, 1200],
    coresPerPod: '~ 2.57',
  },
];
