/** HAProxy, on a host with an observer. */
import { processLayer } from './processes.ts';

export const haproxy = processLayer({
  id: 'haproxy',
  title: 'HAProxy',
  belongsTo: 'deployment',
  pss: { main: true },
  observed: 'only',
});
