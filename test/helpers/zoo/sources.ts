/** Servers without control ports whose page of metrics says something else than what happens. */
import assert from 'node:assert/strict';
import type { Member } from './member.ts';

/** Other pages than a run's first reading, and all of its readings before the load. */
const ramp = { duration: 1, arrivalRate: 10, rampTo: 10 };
const PHASES = { phases: [ramp, { pause: 3 }, ramp, { pause: 3 }] };
const MB = 2 ** 20;
/** Clients from which on something happens: half of the load is there. */
const HALF = 10;

interface Page {
  clients: number;
  cpuSeconds: number;
  startedAt?: number;
}

/** As prom-client writes its default metrics. */
function page({ clients, cpuSeconds, startedAt }: Page): string {
  const lines = [
    `process_resident_memory_bytes ${50 * MB + clients * 20_000}`,
    `process_cpu_seconds_total ${cpuSeconds}`,
    ...(startedAt === undefined ? [] : [`process_start_time_seconds ${startedAt}`]),
  ];
  return `${lines.join('\n')}\n`;
}

/** Its counters begin anew once half of the load is there. */
function restarting(): (clients: number) => string {
  let isAnother = false;
  let cpuSeconds = 100;
  return (clients) => {
    if (!isAnother && clients > HALF) [isAnother, cpuSeconds] = [true, 0];
    cpuSeconds += 0.01;
    return page({ clients, cpuSeconds });
  };
}

const prometheus: Member['workers'] = ({ url }) => ({ prometheus: [{ url: `${url}/metrics` }] });

export const sources: Member[] = [
  {
    name: 'takes its page of metrics away',
    habits: () => {
      let isGone = false;
      return {
        metrics(clients) {
          isGone ||= clients > HALF;
          return isGone ? undefined : page({ clients, cpuSeconds: clients / 100 });
        },
      };
    },
    workers: prometheus,
    config: PHASES,
    reasons: ['READINGS_MISSING'],
    check: ({ memory }) => assert.equal(memory.perConnectionBytes.workerRss, undefined),
  },
  {
    name: 'repeats its page of metrics',
    habits: () => ({ metrics: () => page({ clients: 0, cpuSeconds: 1, startedAt: 1 }) }),
    workers: prometheus,
    config: PHASES,
    reasons: ['WORKER_URLS_WRONG'],
  },
  {
    name: 'has counters at 0 on its page of metrics, and does not say when its process started',
    habits: () => ({ metrics: restarting() }),
    workers: prometheus,
    config: PHASES,
    reasons: ['DEPLOYMENT_CHANGED'],
  },
];
