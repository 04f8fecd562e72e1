/** What the page on WebSocket servers shows, from the study's runs. */
import { join } from 'node:path';
import { dataTable, figure } from '../../report/html/section.ts';
import { questionsOf } from '../../report/study/summarize.ts';
import { doubtsOf, holesOf } from '../../report/study/text.ts';
import { circumstances } from './columns.ts';
import { fullStudy, type MeasuredStudy, readMeasuredStudy, STUDIES } from './measured.ts';
import { answerOf, memoryChart, rowsOf, serversOf } from './websockets.ts';

const STUDY = 'websockets';
const NONE = 'The study has not been run yet.';

export interface WebSockets {
  /** Sentences; empty without a run. */
  answer: string[];
  heap: string;
  pss: string;
  table: string;
  /** On what it was measured; empty without a run. */
  circumstances: string[];
  /** Combinations that lack runs, and what casts doubt on the comparison. */
  holes: string[];
  doubts: string[];
  /** Address of its study.html; null without a run. */
  full: string | null;
}

export declare const data: WebSockets;

export default {
  watch: [`./${STUDY}/study.json`],
  load: (): WebSockets => webSockets(readMeasuredStudy(join(STUDIES, STUDY))),
};

export function webSockets(measured: MeasuredStudy | undefined): WebSockets {
  const servers = measured ? serversOf(measured) : [];
  const { head, rows } = rowsOf(servers);
  const results = servers.flatMap((server) => server.results);
  return {
    answer: answerOf(servers),
    heap: figure(memoryChart(servers, 'workerHeapUsed', 'V8 heap at rest against connections'), NONE).markup,
    pss: figure(memoryChart(servers, 'workerPss', 'PSS of the server at rest against connections'), '').markup,
    table: rows.length > 0 ? dataTable('The servers of the study', head, rows).markup : '',
    circumstances: circumstances(results),
    holes: measured ? holesOf(measured.study) : [],
    doubts: measured ? doubtsOf(measured.runs, questionsOf(measured.study.plan, measured.runs)) : [],
    full: measured ? fullStudy(STUDY) : null,
  };
}
