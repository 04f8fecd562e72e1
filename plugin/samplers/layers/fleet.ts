/** The generator's processes that hold the connections. */
import { processLayer } from './processes.ts';

export const fleet = processLayer({ id: 'fleet', title: 'Generator fleet', belongsTo: 'generator' });
