/** How the connections were spread over the workers, and what each of them did. */
import type { Result } from '../../protocol/result/result.ts';
import { workersOverTime } from '../charts/workers.ts';
import { amount, share } from '../model/amount.ts';
import { type Block, drawing, grid, lines, type Section } from '../model/document.ts';

export function workers(result: Result): Section {
  const { perWorker, perServer } = result.connections;
  // With one server, this is the number of connections again.
  const servers = perServer && Object.keys(perServer).length > 1 ? perServer : {};
  return {
    id: 'workers',
    title: 'Workers',
    lead: 'How the connections were spread over the Socket.IO workers, and what each of them did.',
    folded: true,
    blocks: [
      drawing(workersOverTime(result), 'Not measured over time: this result has no series of single workers.'),
      ...spread('worker', perWorker, 'Not measured: it is not known which worker holds each connection.'),
      ...spread('server, by its admin UI', servers, ''),
    ],
  };
}

function spread(of: string, counts: Record<string, number>, none: string): Block[] {
  const rows = Object.entries(counts).toSorted(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }));
  if (rows.length === 0) return none === '' ? [] : [lines('absent', [none])];
  const total = rows.reduce((sum, [, count]) => sum + count, 0);
  const cells = rows.map(([name, count]) => [name, amount('count', count), share(count, total)]);
  return [grid(`Connections of each ${of}`, ['', 'Connections', 'Share, %'], cells)];
}
