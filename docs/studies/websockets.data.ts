/** What the page on WebSocket servers shows, from the study's runs. */
import { join } from 'node:path';
import { dataTable, figure } from '../../report/render/blocks.ts';
import { circumstances } from './columns.ts';
import { type StudySection, studySection } from './combinations.ts';
import { type MeasuredStudy, readMeasuredStudy, STUDIES } from './measured.ts';
import { notesOf, type StudyNotes } from './notes.ts';
import { answerOf, COLUMNS, compressionAnswer, memoryChart, rowsOf, serversOf } from './websockets.ts';

const STUDY = 'websockets';
const COMPRESSION = 'websockets-compression';
const NONE = 'The study has not been run yet.';

export interface WebSockets extends StudyNotes {
  /** Sentences; empty without a run. */
  answer: string[];
  heap: string;
  pss: string;
  table: string;
  /** On what it was measured; empty without a run. */
  circumstances: string[];
  /** The same servers with and without permessage-deflate. */
  compression: StudySection & { answer: string[] };
}

export declare const data: WebSockets;

export default {
  watch: [STUDY, COMPRESSION].map((name) => `./${name}/study.json`),
  load: (): WebSockets => {
    const [measured, compressed] = [STUDY, COMPRESSION].map((name) => readMeasuredStudy(join(STUDIES, name)));
    return webSockets(measured, compressed);
  },
};

export function webSockets(measured?: MeasuredStudy, compressed?: MeasuredStudy): WebSockets {
  const servers = measured ? serversOf(measured) : [];
  const { head, rows } = rowsOf(servers);
  const results = servers.flatMap((server) => server.results);
  return {
    answer: answerOf(servers),
    heap: figure(memoryChart(servers, 'workerHeapUsed', 'V8 heap at rest against connections'), NONE).markup,
    pss: figure(memoryChart(servers, 'workerPss', 'PSS of the server at rest against connections'), '').markup,
    table: rows.length > 0 ? dataTable('The servers of the study', head, rows).markup : '',
    circumstances: circumstances(results),
    compression: {
      ...studySection(COMPRESSION, compressed, COLUMNS),
      answer: compressed ? compressionAnswer(compressed) : [],
    },
    ...notesOf(STUDY, measured),
  };
}
