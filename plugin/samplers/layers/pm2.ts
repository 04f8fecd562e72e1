/** The daemon that supervises the workers. */
import { processLayer } from './processes.ts';

export const pm2 = processLayer({ id: 'pm2', title: 'PM2 daemon', belongsTo: 'deployment' });
