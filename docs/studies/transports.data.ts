/** What the page on transports shows, from the runs of its two studies. */
import { join } from 'node:path';
import { milliseconds } from '../../report/text/format.ts';
import { at, type Column, slope, tenths } from './columns.ts';
import { type StudySection, studySection } from './combinations.ts';
import { type MeasuredStudy, readMeasuredStudy, STUDIES } from './measured.ts';

const NAMES = ['transports', 'compression'];
const LAYERS = [
  ['worker', 'Workers’'],
  ['nginx', 'nginx’'],
  ['fleet', 'Generator’s'],
] as const;

const COLUMNS: Column[] = [
  ...LAYERS.map(([layer, name]) => ({
    title: `${name} CPU per 1,000 connects, s`,
    value: at(`cpu.${layer}.rampSecondsPerThousandConnects`),
    format: tenths(2),
  })),
  ...LAYERS.map(([layer, name]) => ({
    title: `${name} CPU per copy, µs`,
    value: at(`cpu.${layer}.broadcastMicrosecondsPerMessage`),
    format: tenths(1),
  })),
  slope('workerPss', 'Workers’ PSS'),
  slope('nginxPss', 'nginx’ PSS'),
  { title: 'Connect p50, ms', value: at('connections.connectMs.p50'), format: milliseconds },
  { title: 'Connect p99, ms', value: at('connections.connectMs.p99'), format: milliseconds },
  { title: 'One way p50, ms', value: at('latency.oneWayMs.p50'), format: milliseconds },
  { title: 'Last receiver p50, ms', value: at('latency.completionMs.p50'), format: milliseconds },
  { title: 'Coverage', value: at('delivery.coverage'), format: tenths(4) },
];

export declare const data: Record<string, StudySection>;

export default {
  watch: NAMES.map((name) => `./${name}/study.json`),
  load: (): Record<string, StudySection> =>
    Object.fromEntries(NAMES.map((name) => [name, transportStudy(name, readMeasuredStudy(join(STUDIES, name)))])),
};

export function transportStudy(name: string, measured: MeasuredStudy | undefined): StudySection {
  return studySection(name, measured, COLUMNS);
}
