/**
 * Writes the files next to result.json, for people and programs. Each file is computed from the result document alone.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { unwritableError } from '../../protocol/base/unwritable.ts';
import type { CapacityError } from '../../protocol/codes/errors.ts';
import type { Result } from '../../protocol/result/result.ts';
import { renderSamplesCsv } from '../../report/render/csv.ts';
import { renderHtml } from '../../report/render/html.ts';
import { renderJunit } from '../../report/render/junit.ts';
import { renderMarkdownSummary } from '../../report/render/markdown.ts';
import { runDocument } from '../../report/sections/run-document.ts';
import { replaceFileAtomically } from '../run/folder/run-files.ts';

/** Returns a summary of the run to use within other texts: in a pull request, or on the page of a CI job. */
function summaryOf(result: Result): string {
  const document = runDocument(result);
  return renderMarkdownSummary({ ...document, title: `Socket.IO capacity: ${document.title}` }, ['thresholds']);
}

/** A report file: its name, the function that renders it, and its description for the reference page. */
type ReportFile = [name: string, render: (result: Result) => string, help?: string];

export const REPORT_FILES: Required<ReportFile>[] = [
  ['report.html', (result) => renderHtml(runDocument(result)), 'the report, as one page that needs no network'],
  ['report.md', summaryOf, 'a summary for CI and pull requests'],
  [
    'junit.xml',
    renderJunit,
    'a test case for the measurement (SUSPECT fails, INVALID is an error) and for each threshold',
  ],
  ['samples.csv', renderSamplesCsv, '`samples`, for spreadsheets; empty: not measured'],
];

/**
 * Writes all report files into an existing folder. If a file fails, its partial content is removed, and the other files
 * are still written.
 * @returns names of the written files, and a CapacityError FILE_UNWRITABLE for each failed file
 */
export function writeReportFiles(
  result: Result,
  directory: string,
  files: ReportFile[] = REPORT_FILES,
): { written: string[]; failed: CapacityError[] } {
  const written: string[] = [];
  const failed: CapacityError[] = [];
  for (const [name, render] of files) {
    try {
      replaceFileAtomically(join(directory, name), (temporary) => writeFileSync(temporary, render(result)));
      written.push(name);
    } catch (cause) {
      const again = 'recreate the files from result.json elsewhere: npx socketio-capacity report <run>';
      failed.push(unwritableError(join(directory, name), cause, again));
    }
  }
  return { written, failed };
}
