/** Section on the distribution of connections, and the load of each worker. */
import type { Result } from '../../protocol/result/result.ts';
import { workersChart } from '../charts/workers-chart.ts';
import { amount, shareAmount } from '../model/amount.ts';
import { chartBlock, figuresTable, linesBlock, type ReportSection, type Table } from '../model/document.ts';
import { totalOfCounts } from '../text/format.ts';

export function workersSection(result: Result): ReportSection {
  const { perWorker } = result.connections;
  const isKnown = Object.keys(perWorker).length > 0;
  return {
    id: 'workers',
    title: 'Workers',
    lead: 'How the connections were spread over the Socket.IO workers, and what each of them did.',
    folded: true,
    blocks: [
      chartBlock(workersChart(result), 'Not measured over time: this result has no series of single workers.'),
      spread(perWorker),
      linesBlock('absent', [!isKnown && 'Not measured: the run does not know which worker holds each connection.']),
    ],
  };
}

function spread(counts: Record<string, number>): Table {
  const names = Object.keys(counts).toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }));
  const rows = names.map((name) => [
    name,
    amount('count', counts[name]),
    shareAmount(counts[name] ?? 0, totalOfCounts(counts)),
  ]);
  return figuresTable('Connections of each worker', ['', 'Connections', 'Share, %'], rows);
}
