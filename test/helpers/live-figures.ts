import type { LiveFigures } from '../../plugin/live/live-figures.ts';

const MB = 1024 * 1024;

/** Complete live figures of a run with this number of connections. */
export function liveFigures(connections: number, changes: Partial<LiveFigures> = {}): LiveFigures {
  return {
    run: '2026-01-02T03-04-05-5k',
    scenario: '5k',
    seconds: connections / 100,
    stage: 'ramp',
    connections: { now: connections, target: 5000, failures: { http_503: 2 }, lost: {}, achievedRatePerSec: 500 },
    delivery: { broadcasts: 2, expected: 2 * connections, received: Math.max(0, 2 * connections - 1) },
    latency: { sentinelMs: 12.5 },
    samples: {
      connections,
      worker: { title: 'Workers', rssBytes: 200 * MB, pssBytes: 100 * MB + connections * 15_000, cpuPercent: 50 },
      nginx: { title: 'nginx', rssBytes: 30 * MB, cpuPercent: 12.5 },
      system: { usedBytes: 900 * MB, cpuPercent: 40 },
    },
    generator: { utilization: { conductor: 0.1, w0: 0.5 }, delayP99Ms: { conductor: 1, w0: 4 } },
    hosts: [],
    ...changes,
  };
}
