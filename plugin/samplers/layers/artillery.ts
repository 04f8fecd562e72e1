/** Artillery's own process, with its worker threads. */
import { processLayer } from './processes.ts';

export const artillery = processLayer({ id: 'artillery', title: 'Artillery', belongsTo: 'generator' });
