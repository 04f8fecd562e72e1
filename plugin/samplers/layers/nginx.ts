/** The proxy: master and workers. */
import { hostFigures, metricsOf, processLayer } from './processes.ts';

const proxy = { id: 'nginx', title: 'nginx' };

export const nginx = processLayer({
  ...proxy,
  belongsTo: 'deployment',
  pss: { main: true, metric: 'memory.nginx.bytes_per_connection' },
  tellers: [metricsOf(proxy.id)],
  told: hostFigures(proxy),
});
