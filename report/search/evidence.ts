/** What broke first, as far as the result of the broken level shows it. */
import { failureOf } from '../../protocol/codes/failure-codes.ts';
import type { Result } from '../../protocol/result/result.ts';
import { fullProcess } from '../figures/limits.ts';
import { sharesMachine } from '../figures/place.ts';
import { mean } from '../statistics/statistics.ts';
import { counted, decimals, integer, megabytes } from '../text/format.ts';

/** An event loop this busy has work waiting. Percent of one core. */
const BUSY_PERCENT = 90;
const STAGES_OF_LOAD: readonly string[] = ['ramp', 'hold', 'broadcasts'];
/** Share of a broadcast's time until its last receiver; with less, the time is spent elsewhere. */
const MIN_BROADCAST_SHARE = 0.5;
const FULL_SHARE = 0.95;
/** Redis's default for subscribers: it disconnects one with this much output for a minute, and at four times as much at once. */
const REDIS_OUTPUT_BYTES = 8 * 2 ** 20;

/** The server, or a proxy before it, said no. */
const ANSWER = /^(http_\d+|namespace_refused|join_refused)$/;

/** @returns phrases that can follow "because", the strongest evidence first; empty if the result shows none */
export function evidenceOf(result: Result): string[] {
  return [replaced, files, refused, workerCpu, broadcastCpu, memory, redisOutput].flatMap((find) => find(result));
}

type Find = (result: Result) => string[];

/** A part of the deployment that ended or was replaced. */
const replaced: Find = ({ findings }) => {
  const all = findings.filter(({ fails }) => fails === 'the deployment keeps running');
  return all.filter(({ code }) => !all.some(({ explains }) => explains.includes(code))).map(({ message }) => message);
};

/** By the code with which most connections failed. */
const refused: Find = ({ connections: { failures, failureExamples, lost } }) => {
  const [failed] = mostFirst(failures).filter(([code]) => !/^disconnected/.test(code));
  const [gone] = mostFirst(lost);
  return [
    ...(failed ? [failureText(...failed, failureExamples[failed[0]])] : []),
    ...(gone ? [`${counted(gone[1], 'connection')} ended with “${gone[0]}”`] : []),
  ];
};

function failureText(code: string, count: number, example: string | undefined): string {
  const connections = counted(count, 'connection');
  const what = ANSWER.test(code) ? `the server answered ${connections} with` : `${connections} ended in`;
  const known = code.startsWith('http_') ? failureOf(code)?.meaning : undefined;
  return `${what} \`${code}\`${known ? `: ${known}` : example ? ` (${example})` : ''}`;
}

const workerCpu: Find = (result) => {
  const workers = workerCount(result);
  const busiest = fullWorkers(result);
  if (!busiest) return [];
  const cores = workers === 1 ? 'its core' : `a core in each of ${workers} workers`;
  return [`worker CPU was at ${decimals(busiest.percent, 0)} % of ${cores} (stage \`${busiest.stage}\`)`];
};

/** @returns the busiest of these stages, if the workers had no more CPU to use in it: a worker's event loop has one core */
export function fullWorkers(result: Result, among = STAGES_OF_LOAD): { stage: string; percent: number } | undefined {
  const { stages, samples, messages } = result;
  const means = stages.flatMap(({ name: stage, t }, index) => {
    // Without messages, it is idle.
    if (!among.includes(stage) || (stage === 'hold' && !messages)) return [];
    const until = stages[index + 1]?.t ?? Number.POSITIVE_INFINITY;
    const inside = samples
      .filter((sample) => sample.t > t && sample.t <= until)
      .flatMap((sample) => (sample.worker as Figures | undefined)?.cpuPercent ?? [])
      .map(Number);
    // Collections come between.
    return inside.length < 2 ? [] : [{ stage, percent: mean(inside) / workerCount(result) }];
  });
  const [busiest] = means.toSorted((a, b) => b.percent - a.percent);
  return busiest && busiest.percent >= BUSY_PERCENT ? busiest : undefined;
}

/** Broadcasts come in bursts: a worker can be at its limit during each, and idle on average. */
const broadcastCpu: Find = (result) => {
  const microseconds = result.cpu.worker?.broadcastMicrosecondsPerMessage;
  const { delivery, latency } = result;
  if (!microseconds || !delivery || delivery.broadcasts === 0 || !latency.completionMs) return [];
  const workers = workerCount(result);
  const eachMs = (microseconds * delivery.expected) / delivery.broadcasts / workers / 1000;
  if (eachMs < latency.completionMs.p50 * MIN_BROADCAST_SHARE) return [];
  const who = workers === 1 ? 'the worker' : `each of ${workers} workers`;
  return [
    `a broadcast keeps ${who} busy for ${decimals(eachMs, 0)} of the ${decimals(latency.completionMs.p50, 0)} ms until it has reached everybody`,
  ];
};

const memory: Find = (result) => {
  const { memory, environment } = result;
  const { systemUsed = 0, containerUsed = 0 } = memory.peakBytes;
  const { containerMemoryBytes = Number.POSITIVE_INFINITY } = environment.limits;
  const full = [
    { whose: 'machine', used: systemUsed, bytes: environment.memoryBytes },
    { whose: 'container', used: containerUsed, bytes: containerMemoryBytes },
  ].filter(({ used, bytes }) => sharesMachine(result) && used >= bytes * FULL_SHARE);
  return full.map(
    ({ whose, used, bytes }) => `${megabytes(used)} of ${megabytes(bytes)} MB of the ${whose}’s memory were in use`,
  );
};

/** Before what it causes. */
const files: Find = (result) => {
  const full = fullProcess(result);
  if (full !== undefined) return [full];
  const limit = result.environment.limits.openFilesHard;
  const most = Math.max(0, ...Object.values(result.connections.perWorker));
  if (!sharesMachine(result) || limit === undefined || most < limit * FULL_SHARE) return [];
  return [`a worker held ${integer(most)} connections, and may open ${integer(limit)} files`];
};

const redisOutput: Find = ({ samples }) => {
  const waiting = samples.map((sample) => Number((sample.redisServer as Figures | undefined)?.outputBufferBytes ?? 0));
  const most = Math.max(0, ...waiting);
  return most < REDIS_OUTPUT_BYTES ? [] : [`${megabytes(most)} MB of Redis’s output waited for the workers`];
};

type Figures = Record<string, unknown>;

function workerCount({ connections }: Result): number {
  return Math.max(1, Object.keys(connections.perWorker).length);
}

function mostFirst(counts: Record<string, number>): [string, number][] {
  return Object.entries(counts)
    .filter(([, count]) => count > 0)
    .sort(([, a], [, b]) => b - a);
}
