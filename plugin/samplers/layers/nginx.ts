/** The proxy: master and workers. */
import { processLayer } from './processes.ts';

export const nginx = processLayer({
  id: 'nginx',
  title: 'nginx',
  belongsTo: 'deployment',
  pss: { main: true, metric: 'memory.nginx.bytes_per_connection' },
  observed: 'too',
});
