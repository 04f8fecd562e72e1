/** Processes of the server that ended during the run: the first thing to know about connections that were lost or refused. */
import { decimals, integer, total } from '../../../report/text/format.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';
import type { EndedProcess } from '../../samplers/index.ts';
import { checkUnless, type Detail, type Found, type Measured } from '../check.ts';
import { ofDeployment, only } from './failure-causes.ts';

/** Share of the limit of open files from which on it is worth a word. */
const NEARLY_FULL = 0.8;
/** Further ends that a message lists. */
const MAX_LISTED = 3;

/** What a client sees when the process behind its connection ends. */
const CUT_OFF = /^(disconnected_)?(transport[ _](close|error))$/;

// Who stops a run by Ctrl-C often stops the server with it.
export const endedProcesses = [
  checkUnless('stop', 'PROCESS_ENDED', (result, measurements) => ended(result, measurements)),
];

function ended(result: Measured, measurements: Measurements): Found {
  const all = measurements.endedProcesses();
  const [first, ...others] = all;
  if (!first) return undefined;
  const lost = total(only(ofDeployment(result.connections.lost), (cause) => CUT_OFF.test(cause)));
  const times = (one: EndedProcess) => atText(one, measurements);
  const further = others.slice(0, MAX_LISTED).map((one) => `process ${one.pid}${times(one)}`);
  const more = others.length > MAX_LISTED ? `, and ${integer(others.length - MAX_LISTED)} more` : '';
  const after = further.length > 0 ? `, then ${further.join(', ')}${more}` : '';
  const connections = lost > 0 ? ` with ${integer(lost)} connections${after === '' ? '' : ' in all'}` : '';
  const full = all.find(({ openFiles = 0, limit }) => limit !== undefined && openFiles >= NEARLY_FULL * limit);
  const files = full
    ? `; ${full === first ? 'it' : `process ${full.pid}`} had ${integer(full.openFiles ?? 0)} of ${integer(full.limit ?? 0)} open files`
    : '';
  return {
    message: `process ${first.pid} (${first.command}) ended${times(first)}${after}${connections}${files}`,
    subject: `process ${first.pid}`,
    window: windowAt(first, measurements),
    values: valuesOf(lost, full ?? first),
    ...(full && {
      fix: 'raise the limit of open files of the server (`ulimit -n`, `LimitNOFILE`), and let it survive EMFILE: see its log',
    }),
  };
}

function valuesOf(lost: number, { openFiles, limit }: EndedProcess): Detail['values'] {
  const figures = { connections: lost, 'open files': openFiles, 'limit of open files': limit };
  return Object.entries(figures).flatMap(([name, value]) =>
    value === undefined ? [] : [{ name, value, unit: '', low95: null, high95: null }],
  );
}

/** @returns seconds on the time axis of the samples, if these have begun */
function secondsOf({ atUs }: EndedProcess, { samplesBeganAtUs }: Measurements): number | undefined {
  return samplesBeganAtUs === undefined ? undefined : (atUs - samplesBeganAtUs) / 1e6;
}

function atText(one: EndedProcess, measurements: Measurements): string {
  const seconds = secondsOf(one, measurements);
  return seconds === undefined || seconds < 0 ? ' before the load' : ` at ${decimals(seconds, 1)} s`;
}

const WINDOWS: Record<string, string> = {
  hold: 'hold',
  broadcasts: 'broadcasts',
  drain: 'broadcasts',
  fault: 'broadcasts',
  disconnect: 'disconnect',
  'end of the run': 'disconnect',
};

function windowAt(one: EndedProcess, measurements: Measurements): string {
  const seconds = secondsOf(one, measurements) ?? 0;
  const stage = measurements.stages.findLast(({ t }) => t <= seconds)?.name ?? '';
  return WINDOWS[stage] ?? 'ramp';
}
