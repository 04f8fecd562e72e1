/** Tests texts of reports: whole reports of published runs, and the differences of changed runs. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { FindingCode } from '../../../protocol/codes/finding-codes.ts';
import type { FaultResult } from '../../../protocol/result/fault-schema.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { readResult } from '../../../report/read.ts';
import { finding } from '../../helpers/findings.ts';
import { assertGolden } from '../../helpers/golden.ts';
import { summaryOf } from '../../helpers/message-figures.ts';
import { plannedFault } from '../../helpers/planned-fault.ts';
import { endingText, fullText, reportHtml, reportMarkdown } from '../../helpers/report-text.ts';
import { generatorHost, perfectBatch, perfectResult, resultWithMessages } from '../../helpers/results.ts';
import { set } from '../../helpers/verdict.ts';
import { drift, moment, waves } from '../../helpers/waves.ts';

it('the Markdown report of a published run equals the stored text', (t) => {
  assertGolden(t, '5k.md', reportMarkdown(readResult('docs/reports/5k/result.json')));
});

for (const name of ['32k', 'raccoon-100k', 'waves']) {
  it(`prints all sections of a published run: ${name}`, (t) => {
    assertGolden(t, `${name}.txt`, fullText(readResult(`docs/reports/${name}/result.json`)));
  });
}

type Change = (result: Result) => unknown;

const WHY = 'no control port';

/** Returns a run on a server without a control port. */
function outside(): Result {
  const result = perfectResult();
  const { latency, memory, environment } = result;
  return {
    ...result,
    absent: { memory: WHY, cpu: WHY, delivery: WHY, latency: WHY, roundTrip: WHY },
    delivery: null,
    environment: { ...environment, server: null },
    latency: { ...latency, oneWayMs: null, localMs: null, crossWorkerMs: null, completionMs: null, sendDelayMs: null },
    memory: { ...memory, inService: null, perConnectionBytes: {}, peakBytes: {}, plateaus: [{ connections: 0 }] },
    capacity: { memoryLimited: null, pings: null, limits: [], unknown: [], lowest: null },
    stages: ['ramp', 'plateau', 'hold', 'disconnect'].map((name, index) => ({ name, t: 10 * index + 1 })),
  };
}

function stormy(changes: Partial<FaultResult> = {}): Result {
  return { ...perfectResult(), fault: plannedFault(changes) };
}

const ofServer = (changes: object) => set('run', { profile: 'remote', ...changes });
const withServer = (kind: string) => set('environment', { server: { kind, tunings: {}, options: {} } });
const found =
  (...codes: FindingCode[]): Change =>
  (result) =>
    result.findings.push(...codes.map((code) => finding(code)));
const several: Change = ({ connections }) => Object.assign(connections, { peak: 10_000, held: 10_000 });
const noneHeld: Change = ({ connections, delivery }) => {
  Object.assign(connections, { held: null });
  Object.assign(delivery ?? {}, { coverageOfTarget: null });
};
const halfHeld: Change = ({ connections, delivery }) => {
  Object.assign(connections, { peak: 5000, held: 2450 });
  Object.assign(delivery ?? {}, { coverageOfTarget: 0.49 });
};
const oneLost: Change = ({ delivery, findings }) => {
  findings.push(finding('COPIES_LOST', '99.99 % of the copies delivered'));
  Object.assign(delivery ?? {}, { received: 59_999, lostConnected: 1 });
  Object.assign(delivery?.batches[6] ?? {}, { received: 4999, lostConnected: 1 });
};
const threshold = (expression: string, value: number, unit: string, strict = true) => ({
  ...{ expression, met: false, strict },
  found: [{ metric: 'm', value, unit }],
});
const thresholds =
  (...all: Result['thresholds']): Change =>
  (result) =>
    result.thresholds.push(...all);
const doubted: Change = ({ findings }) =>
  findings.push(finding('MEMORY_GROWS', 'workers grew by 12 MB', { fix: 'look for a leak' }));
const onlyTimers: Change = (result) => {
  Object.assign(result, structuredClone(resultWithMessages()), { delivery: null });
  Object.assign(result.cpu.worker ?? {}, { clientMicrosecondsPerMessage: null, idlePercent: 10 });
};
const withHosts: Change = (result) => {
  result.generators = [0.6, 0.4].map((share, index) => generatorHost(`load-${index}`, { share, p50: 10 + index }));
};
const wrongBatches: Change = ({ delivery }) => {
  if (!delivery) return;
  delivery.batches = Array.from({ length: 120 }, (_, index) => perfectBatch(index + 1, 5000));
  Object.assign(delivery.batches[89] ?? {}, { duplicates: 1 });
  Object.assign(delivery.batches[99] ?? {}, { serverMembers: 5001 });
};
const ownEvent: Change = ({ delivery, latency }) => {
  Object.assign(delivery ?? {}, { source: 'own event', event: 'chat message', publisher: null, outside: 7 });
  latency.from = 'publisher';
};
const messagesOnly =
  (unexpected: number): Change =>
  (result) => {
    Object.assign(result, { messages: resultWithMessages().messages });
    const none = { broadcasts: 0, expected: 0, received: 0, coverage: null, batches: [] };
    Object.assign(result.delivery ?? {}, { ...none, unexpected });
  };
const reconnected: Change = ({ connections, delivery }) => {
  const awayMs = { ...summaryOf(18, 120), max: 900 };
  connections.reconnection = { dropped: 20, returned: 18, recovered: 17, gaveUp: 2, left: 0, away: 0, awayMs };
  Object.assign(delivery ?? {}, { missed: 18, resent: 17 });
};
const failures = set('connections', {
  failures: { timeout_open: 3, ECONNREFUSED: 12 },
  failureExamples: { timeout_open: 'nobody answered' },
});
const cpuInterval: Change = ({ cpu }) => {
  const none = { rampSecondsPerThousandConnects: null, idlePercent: null, idleConnectionsPercent: null };
  const broadcastMicrosecondsPerMessage = { low95: 10.26, high95: 12.54 };
  const intervals = { ...none, clientMicrosecondsPerMessage: null, broadcastMicrosecondsPerMessage };
  Object.assign(cpu.worker ?? {}, { intervals });
};
const doubtedSlopes: Change = ({ memory: { perConnectionBytes } }) => {
  Object.assign(perConnectionBytes.workerHeapUsed ?? {}, { low95: 5000, high95: 25_000 });
  Object.assign(perConnectionBytes.workerRss ?? {}, { doubt: 'grows' });
};
const slowFirst: Change = ({ latency, delivery }) => {
  latency.slowFirst = { seq: 1, lastMs: 60, othersP50Ms: 22, othersMaxMs: 24 };
  Object.assign(delivery ?? {}, { broadcasts: 6 });
};
const unreachedGroup = (broadcasts: number, connections: number, workers: string[], isLasting: boolean) =>
  set('delivery', { unreachedGroup: { broadcasts, connections, workers, isLasting } });
const lossesInRooms =
  (rooms: number[]): Change =>
  ({ delivery }) =>
    delivery?.batches.forEach((batch, index) => {
      const received = batch.expected - (rooms.includes(index % 4) ? 3 : 0);
      Object.assign(batch, { room: `chat:${index % 4}`, received });
    });
const unmeasuredMemory =
  (...kilobytes: number[]): Change =>
  ({ memory }) => {
    const parts = (['shared', 'programs', 'kernel'] as const).map((part, index) => {
      const high95 = (kilobytes[index] ?? 0) * 1024;
      return { part, bytes: 0, low95: -high95, high95, isSignificant: false };
    });
    memory.balance = { parts, holders: [] };
  };
const upgraded: Change = (result) => {
  const counts = { configured: 'default', websocket: 0, upgraded: 4990, polling: 10 } as const;
  result.connections.transports = { ...counts, upgradeFailures: { http_400: 10 } };
};

const NO_WINDOWS = { ramp: null, messages: null, broadcasts: null };
/** Returns a change that sets the machines of the workers. The first machine has one worker. */
const onMachines =
  (usableCores: number, memoryLimitBytes: number | null, ...machines: Partial<Result['workerMachines'][number]>[]) =>
  (result: Result) => {
    const machine = { hostname: 'app-1', isGenerators: false, cores: 8, memoryBytes: 16 * 2 ** 30, usedBytes: null };
    const read = { ...machine, cpuIdlePercent: NO_WINDOWS, stealPercent: NO_WINDOWS };
    result.workerMachines = machines.map((one) => ({ ...read, ...one }));
    const worker = {
      worker: 'w0',
      machine: 0,
      openFiles: null,
      openFilesLimit: null,
      container: null,
      throttled: null,
    };
    result.workers = [{ ...worker, usableCores, memoryLimitBytes }];
  };
const SAME = { isGenerators: true, cores: 2, memoryBytes: 8 * 2 ** 30 };
const threeHosts: Change = (result) => {
  const generators = ['load-1', 'load-2', 'load-3'].map((host) => generatorHost(host));
  Object.assign(generators[2] ?? {}, { cores: 1, memoryLimitBytes: 2 ** 30 });
  Object.assign(result, { generators });
  onMachines(8, null, {})(result);
};

const perSecond = (bytes: number) => ({ bytes, low95: bytes - 5000, high95: bytes + 5000, noLeakAbove: bytes + 5000 });
const [pages, quiet] = [drift(2500, 900), drift(10, 50)];
const unseen = { ...drift(10, 83_558), leaks: null, conclusiveRun: { connections: 280, bytes: 11_937 } };
const inTime = {
  workerRss: { ...pages, perSecond: perSecond(100_000) },
  workerHeapUsed: { ...quiet, leaks: true, perSecond: perSecond(98_000) },
};
const churn = [20, 40, 60].map((t) => moment(t, 500, 25 * t));
const noDrop = {
  kind: 'restart-redis' as const,
  stayed: 1000,
  dropped: 0,
  reconnected: 0,
  drops: 0,
  returns: 0,
  curve: [],
};
const gaveUp = { reconnected: 490, notReconnected: { 'gave up': 10 }, reconnectMs: { p50: 760, p99: null, all: null } };

/** Changes of a perfect run, or runs of another kind. */
const CASES: Record<string, Change | Result> = {
  'nginx and Redis are not installed': set('run', { profile: 'embedded', missing: ['nginx', 'redis-server'] }),
  'the server is untuned': withServer('untuned'),
  'the server is unknown': set('environment', { server: null }),
  'the server is the user’s, on this machine': ofServer({ target: 'http://localhost:3000' }),
  'the server is the user’s, elsewhere': ofServer({ target: 'https://staging.example.com' }),
  'the generator runs in a container': set('environment', {
    limits: { cpuQuotaCores: 1.5, containerMemoryBytes: 2 ** 29 },
  }),
  'the generator may use one CPU': set('environment', { limits: { cpusAllowed: 1 } }),
  'the workers share the machine': onMachines(2, null, SAME),
  'the workers have limits on the same machine': onMachines(0.5, 2 ** 30, SAME),
  'the workers have two machines': onMachines(
    8,
    null,
    { model: 'Xeon', system: 'Linux 5.15' },
    { hostname: 'app-2', model: 'Xeon', system: 'Linux 5.15' },
  ),
  'three hosts of two kinds generate the load': threeHosts,
  'half of the connections are held': halfHeld,
  'each user opens two connections': several,
  'no user holds its connection': noneHeld,
  'one copy is lost': oneLost,
  'an optional threshold is missed': thresholds(threshold('connections.rate > 900', 740, 'connections/s', false)),
  'thresholds are missed': thresholds(
    threshold('connections.connect_time.p99 < 10', 12.94, 'ms'),
    threshold('socketio.delivery.coverage >= 1', 0.99999999, '0 to 1'),
    threshold('connections.failed < 1', 1, 'connections'),
    threshold('connections.failed < 100', 1200, 'connections'),
    threshold('http.codes.200 > 5', 4, ''),
    threshold('maxErrorRate <= 1', 12.5, '% of virtual users'),
    { expression: 'socketio.nosuch.p99 < 10', met: false, strict: true, unknown: ['socketio.nosuch.p99'] },
  ),
  'memory is in doubt': doubted,
  'the run is INVALID': found('RUN_INCOMPLETE'),
  'the run of another engine ended early': set('run', { complete: false, engine: 'socketio-v3' }),
  'the generator was late': found('GENERATOR_LATE'),
  'the machine was full': found('MACHINE_SATURATED'),
  'latencies count from the first receipt': set('latency', { from: 'first receipt' }),
  'there were six broadcasts': set('delivery', { broadcasts: 6 }),
  'there were four broadcasts': set('delivery', { broadcasts: 4 }),
  'clients send messages, and there are no broadcasts': messagesOnly(0),
  'clients send messages, and stray copies arrive': messagesOnly(3),
  'only a timer uses CPU while clients send messages': onlyTimers,
  'a planned fault leaves ten connections lost': stormy(gaveUp),
  'a planned fault drops no connection': stormy(noDrop),
  'a command causes the fault': stormy({ kind: 'command', command: 'systemctl' }),
  'a fault without a count of each worker': stormy({ perWorker: { before: { w0: 500, w1: 500 }, after: {} } }),
  'waves grow without collections': waves({ collected: false }),
  'waves grow by pages alone': waves({ drift: { workerRss: pages, workerHeapUsed: quiet } }),
  'waves leak with time': waves({ drift: inTime }),
  'waves leak on a server without a heap': waves({ drift: { workerRss: pages } }),
  'waves are too small for a leak to show': waves({
    drift: { workerRss: unseen, redisUsedMemory: drift(4345, 123), nginxPss: quiet, kernelTcp: unseen },
    collected: false,
  }),
  'waves show no growth of external memory alone': waves({
    drift: { workerRss: unseen, workerHeapUsed: unseen, workerExternal: quiet },
  }),
  'waves show no growth of the heap': waves({ drift: { workerRss: unseen, workerHeapUsed: quiet } }),
  'churn leaks': waves({ kind: 'churn', peaks: [], warmUpReadings: 1, readings: churn }),
  'waves without enough readings': waves({ drift: {} }),
  'two hosts generate the load': withHosts,
  'some broadcasts are wrong': wrongBatches,
  'copies are of the wrong size, or were never ordered': set('delivery', { wrongSize: 7, unknownBroadcast: 12_345 }),
  'one room has all losses': lossesInRooms([2]),
  'two rooms have losses': lossesInRooms([0, 2]),
  'one worker missed broadcasts': unreachedGroup(10, 100, ['w1'], false),
  'the same connections missed broadcasts': unreachedGroup(19, 10, [], true),
  'the server has an event of its own': ownEvent,
  'connections reconnect': reconnected,
  'connections fail': failures,
  'CPU has an interval': cpuInterval,
  'the first broadcast is slow': slowFirst,
  'other workers are slow to reach': set('latency', { crossWorkerMs: { ...summaryOf(30_000, 211), min: 190 } }),
  'two slopes are in doubt': doubtedSlopes,
  'little memory lies beside the layers': unmeasuredMemory(0.5, 1000, 2),
  'much memory may lie beside the layers': unmeasuredMemory(900, 1000, 2000),
  'clients upgrade from polling': upgraded,
  'clients get compression': set('connections', { compression: { asked: true, granted: 4000, byServer: true } }),
  'the server compresses, and clients do not ask': set('connections', {
    compression: { asked: false, granted: 0, byServer: true },
  }),
  'clients ask in vain for compression': set('connections', {
    compression: { asked: true, granted: 0, byServer: false },
  }),
};

/** Runs of other kinds. Their cases are compared with them instead of a perfect run. */
const KINDS = {
  'a fault is planned': stormy(),
  'connections come in waves': waves(),
  'clients send messages': resultWithMessages(),
  'the server has no control port': outside(),
};

const isSameKind = (a: Result, b: Result) =>
  !a.fault === !b.fault && !a.messages === !b.messages && !a.memory.overTime === !b.memory.overTime;

/** Returns the lines of the ending and of the whole output, without column padding. */
function linesOf(result: Result): [ending: string[], whole: string[]] {
  const lines = (text: string) => text.split('\n').map((line) => line.trimEnd().replace(/(?<=\S) {2,}/g, '  '));
  return [lines(endingText(result)), lines(fullText(result))];
}

/**
 * Returns the lines of the ending that a case lacks or adds, sections that it lacks, and lines of sections that it
 * adds.
 */
function differences(result: Result, usual: Result): string[] {
  const [[usualEnding, usualWhole], [ending, whole]] = [linesOf(usual), linesOf(result)];
  const isSection = (line: string) => /^\S/.test(line) && !usualEnding.includes(line);
  return [
    ...usualEnding.filter((line) => !ending.includes(line)).map((line) => `- ${line.trim()}`),
    ...usualWhole.filter((line) => isSection(line) && !whole.includes(line)).map((line) => `- section ${line}`),
    ...ending.filter((line) => !usualEnding.includes(line)).map((line) => `+ ${line.trim()}`),
    ...whole.filter((line) => !usualWhole.includes(line) && !ending.includes(line)).map((line) => `  ${line.trim()}`),
  ];
}

it('prints all sections of a result without findings', (t) =>
  assertGolden(t, 'perfect.txt', fullText(perfectResult())));

it('the report of each changed result differs from the unchanged report only as expected', (t) => {
  const kinds = Object.entries(KINDS).map(([name, one]) => [name, ...differences(one, perfectResult())].join('\n'));
  const cases = Object.entries(CASES).map(([name, of]) => {
    const result = typeof of === 'function' ? perfectResult() : of;
    if (typeof of === 'function') of(result);
    const usual = [perfectResult(), ...Object.values(KINDS)].find((one) => isSameKind(one, result));
    return [name, ...differences(result, usual ?? perfectResult())].join('\n');
  });
  assertGolden(t, 'differences.txt', [...kinds, ...cases].join('\n\n'));
});

it('report.html has the machine in its head, also for an INVALID run', () => {
  for (const codes of [[], ['RUN_INCOMPLETE' as const]]) {
    const result = perfectResult();
    found(...codes)(result);
    const [head = ''] = reportHtml(result).split('<main>');
    assert.ok(head.includes('a processor, 2 cores, 8.0 GiB, Linux 6.1'), head);
  }
});

it('prints at most fourteen lines of 80 columns at the end of a run', () => {
  const ending = endingText(perfectResult(), 80).split('\n');
  assert.ok(ending.length <= 14, ending.join('\n'));
  assert.ok(ending.every((line) => line.length <= 80));
});
