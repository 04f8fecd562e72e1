/** The adapter's Redis, as a process. What it reports about its memory is in `redis-server.ts`. */
import { hostFigures, metricsOf, processLayer, type Teller } from './processes.ts';

const server = { id: 'redis', title: 'Redis' };

const itself: Teller = {
  source: 'INFO of Redis',
  tell: async ({ redis }) => ({ rssBytes: (await redis()).rssBytes }),
};

export const redis = processLayer({
  ...server,
  belongsTo: 'deployment',
  tellers: [metricsOf(server.id), itself],
  told: hostFigures(server),
});
