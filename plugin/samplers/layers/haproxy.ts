/** HAProxy, which no stack of ours has. */
import { hostFigures, metricsOf, processLayer } from './processes.ts';

const proxy = { id: 'haproxy', title: 'HAProxy' };

export const haproxy = processLayer({
  ...proxy,
  belongsTo: 'deployment',
  onlyNamed: true,
  pss: { main: true },
  tellers: [metricsOf(proxy.id)],
  told: [
    { figure: 'poolBytes', id: 'haproxyPools', title: 'HAProxy pools', main: true, onlyMetrics: true },
    ...hostFigures(proxy),
  ],
});
