/** The adapter's Redis, as a process. What it reports about its memory is in `redis-server.ts`. */
import { processLayer } from './processes.ts';

export const redis = processLayer({
  id: 'redis',
  title: 'Redis',
  belongsTo: 'deployment',
  observed: 'too',
  rssElsewhere: [{ source: 'INFO of Redis', read: async (sources) => (await sources.redis()).rssBytes }],
});
