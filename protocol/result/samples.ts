/** Row of `samples`, the time series of the result document. */
import { z } from 'zod';
import { describeFigure, type FigureDeclaration } from './figure.ts';
import { resultCount } from './shared-schemas.ts';

const bytes = z.number().optional();
const memory = (labels: Record<string, string>): FigureDeclaration => ({
  ...{ quantity: 'megabytes', answers: ['memory'] },
  live: {
    series: 'memory_bytes',
    label: 'layer',
    labels,
    help: 'Memory of a layer, by kind: rss, pss, used',
  },
});

const layerSchema = z
  .object({
    rssBytes: describeFigure(bytes, 'RSS of its processes', memory({ kind: 'rss' })),
    pssBytes: describeFigure(bytes, 'PSS of its processes', memory({ kind: 'pss' })),
    cpuPercent: describeFigure(z.number().optional(), 'CPU since the row before; 100 is one core', {
      ...{ quantity: 'percent', noun: 'cores', answers: ['cpu'] },
      live: { series: 'cpu_cores', label: 'layer', help: 'CPU of a layer, in cores' },
    }),
  })
  .catchall(z.unknown());

const systemSchema = z
  .object({
    usedBytes: describeFigure(bytes, 'memory in use', memory({ layer: 'system', kind: 'used' })),
    cpuPercent: describeFigure(z.number().optional(), 'CPU since the row before; 100 is all cores', {
      ...{ quantity: 'percent', answers: ['cpu'] },
      live: { series: 'machine_cpu_ratio', help: 'CPU of the whole machine' },
    }),
  })
  .catchall(z.unknown());

export const sampleSchema = z
  .object({
    t: z.number().describe('seconds since the first row'),
    connections: describeFigure(resultCount, 'connections at that time', {
      ...{ quantity: 'count', noun: 'connections', answers: ['connections'] },
      live: { series: 'connections', help: 'Connected now' },
    }),
    system: systemSchema.optional(),
  })
  .catchall(layerSchema as z.ZodType<unknown>);
