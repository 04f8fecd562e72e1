/** The sections on intervals: of latencies, and of what connections cost. */
import type { Section } from '../comparison.ts';
import { type CostsCoverageSize, ofCosts } from './costs.ts';
import { type LatencyCoverageSize, ofDrawn, ofServer } from './latency.ts';

interface LatencyIntervalsSize {
  server: LatencyCoverageSize;
  /** Repeats of drawn broadcasts: few, and as many as p99 needs. */
  drawn: { few: number; many: number };
}

export async function latencyIntervals({ server, drawn }: LatencyIntervalsSize): Promise<Section> {
  return {
    title: 'Intervals of latencies',
    text:
      'How often a 95 % interval contains the true value. A server delays each broadcast by an exponentially distributed time ' +
      'that all copies share; the true percentiles are those of all repeats together. Drawn latencies, with 20 copies of each ' +
      'broadcast, show the statistic alone.',
    rows: [
      ...(await ofServer(server)),
      ...ofDrawn(drawn.few, 6, ['even', 'skewed', 'one in ten slow', 'nothing shared']),
      ...ofDrawn(drawn.few, 20, ['even', 'skewed', 'one in ten slow', 'nothing shared']),
      ...ofDrawn(drawn.many, 400, ['skewed', 'one in ten slow']),
    ],
  };
}

export async function costIntervals(size: CostsCoverageSize): Promise<Section> {
  return {
    title: 'Intervals of costs',
    text:
      'How often a 95 % interval contains the true value, which is the mean of all repeats: short runs, each with a new server. ' +
      'V8’s young generation has a fixed size there, because its growth is a single step that one run sees and the next one ' +
      'does not. CPU times are also compared with what the server spends. The upper bound allows for chance, so few repeats ' +
      'may show 100 %.',
    rows: await ofCosts(size),
  };
}
