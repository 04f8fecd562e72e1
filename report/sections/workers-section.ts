/** Section on the distribution of connections, and the load of each worker. */
import type { Result } from '../../protocol/result/result.ts';
import { workersOverTime } from '../charts/workers-chart.ts';
import { amount, share } from '../model/amount.ts';
import { drawing, grid, lines, type Section, type Table } from '../model/document.ts';
import { total } from '../text/format.ts';

export function workers(result: Result): Section {
  const { perWorker } = result.connections;
  const isKnown = Object.keys(perWorker).length > 0;
  return {
    id: 'workers',
    title: 'Workers',
    lead: 'How the connections were spread over the Socket.IO workers, and what each of them did.',
    folded: true,
    blocks: [
      drawing(workersOverTime(result), 'Not measured over time: this result has no series of single workers.'),
      spread(perWorker),
      lines('absent', [!isKnown && 'Not measured: the run does not know which worker holds each connection.']),
    ],
  };
}

function spread(counts: Record<string, number>): Table {
  const names = Object.keys(counts).toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }));
  const rows = names.map((name) => [name, amount('count', counts[name]), share(counts[name] ?? 0, total(counts))]);
  return grid('Connections of each worker', ['', 'Connections', 'Share, %'], rows);
}
