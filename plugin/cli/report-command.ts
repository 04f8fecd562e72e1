/** `report <run>`: rewrites the report files beside result.json. */
import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import { makeFolder } from '../../protocol/base/make-folder.ts';
import { describeError } from '../../protocol/codes/errors.ts';
import { EXIT_CODES } from '../../protocol/codes/exit-codes.ts';
import { readResult } from '../../report/read.ts';
import { renderRunConsole } from '../../report/render/console.ts';
import { runDocument } from '../../report/sections/run-document.ts';
import { addHelp, addJsonOption, printJson, terminalFormat, writeOutputFile } from './command.ts';

interface Options {
  out?: string;
  verbose?: boolean;
  json?: boolean;
}

export function addReport(program: Command): void {
  const command = program
    .command('report')
    .description('Writes the report files of a run again, from its result.json.')
    .argument('<run>', 'a result.json, or the folder of a run')
    .option('--out <folder>', 'the folder for the files (default: that of result.json)')
    .option('--verbose', 'prints the run with all its tables')
    .action(write);
  addHelp(addJsonOption(command), {
    examples: {
      'report results/latest': 'after an update, or when a file was lost',
      'report results/latest --verbose': 'to read all tables in the terminal',
      'report results/latest --out public': 'into another folder, for example for CI to keep',
    },
    exitCodes: { 0: 'all files are written', 2: 'the result cannot be read, or a file cannot be written' },
  });
}

async function write(run: string, { out = folderOf(run), verbose, json }: Options): Promise<void> {
  const result = readResult(run);
  const fix = 'choose a folder that you can write to: --out <folder>';
  writeOutputFile(out, fix, () => makeFolder(out));
  // The module is imported only when needed, because it loads the charts.
  const { writeReportFiles } = await import('../result/report-files.ts');
  const { written, failed } = writeReportFiles(result, out);
  const paths = written.map((name) => join(out, name));
  for (const error of failed) console.error(describeError(error));
  if (failed.length > 0) process.exitCode = EXIT_CODES.refused;
  if (verbose && !json) console.log(`${renderRunConsole(runDocument(result), { ...terminalFormat(), verbose })}\n`);
  if (json) printJson(paths);
  else if (paths.length > 0) console.log(paths.join('\n'));
}

function folderOf(run: string): string {
  return statSync(run, { throwIfNoEntry: false })?.isDirectory() ? run : dirname(run);
}
