/** What the page on transports shows, from the runs of its two studies. */
import { join } from 'node:path';
import { milliseconds } from '../../report/text/format.ts';
import { type Column, column, slope, tenths } from './columns.ts';
import { type StudySection, studySection } from './combinations.ts';
import { type MeasuredStudy, readMeasuredStudy, STUDIES } from './measured.ts';

const NAMES = ['transports', 'compression'];
const LAYERS = [
  ['worker', 'Workers’'],
  ['nginx', 'nginx’'],
  ['fleet', 'Generator’s'],
] as const;

const COLUMNS: Column[] = [
  ...LAYERS.map(([layer, name]) =>
    column(`${name} CPU per 1,000 connects, s`, `cpu.${layer}.rampSecondsPerThousandConnects`, tenths(2)),
  ),
  ...LAYERS.map(([layer, name]) =>
    column(`${name} CPU per copy, µs`, `cpu.${layer}.broadcastMicrosecondsPerMessage`, tenths(1)),
  ),
  slope('workerPss', 'Workers’ PSS'),
  slope('nginxPss', 'nginx’ PSS'),
  column('Connect p50, ms', 'connections.connectMs.p50', milliseconds),
  column('Connect p99, ms', 'connections.connectMs.p99', milliseconds),
  column('One way p50, ms', 'latency.oneWayMs.p50', milliseconds),
  column('Last receiver p50, ms', 'latency.completionMs.p50', milliseconds),
  column('Coverage', 'delivery.coverage', tenths(4)),
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
