/** The section on intervals: of latencies, and of what connections cost. */
import type { Section } from '../comparison.ts';
import { type CostsCoverageSize, ofCosts } from './costs.ts';
import { type LatencyCoverageSize, ofDrawn, ofServer } from './latency.ts';

interface CoverageSize {
  latency: LatencyCoverageSize;
  /** Repeats of drawn broadcasts: few, and as many as p99 needs. */
  drawn: { few: number; many: number };
  costs: CostsCoverageSize;
}

export async function coverage({ latency, drawn, costs }: CoverageSize): Promise<Section> {
  return {
    title: 'Intervals',
    text:
      'How often a 95 % interval contains the true value, by repetition. Latencies of a server: it delays each broadcast ' +
      'by an exponentially distributed time that all copies share, and each copy by a time of its own; the true ' +
      'percentiles are those of all repeats together, as the server recorded them. Drawn latencies, with 20 copies of each ' +
      'broadcast, show the statistic alone: for p99, and for other distributions. Costs: each repeat is a short run with a ' +
      'new server; the true value is the mean of all repeats, and the CPU time of a connection is also compared with what ' +
      'the server spends on each.',
    rows: [
      ...(await ofServer(latency)),
      ...ofDrawn(drawn.few, 6, ['even', 'skewed', 'one in ten slow', 'nothing shared']),
      ...ofDrawn(drawn.few, 20, ['even', 'skewed', 'one in ten slow', 'nothing shared']),
      ...ofDrawn(drawn.many, 400, ['skewed', 'one in ten slow']),
      ...(await ofCosts(costs)),
    ],
  };
}
