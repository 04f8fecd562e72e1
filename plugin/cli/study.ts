/** `study <file>`: what changes when a setting changes. */
import type { Command } from 'commander';
import { exitCodeOf } from '../../protocol/codes/exit-codes.ts';
import { harmless } from '../../protocol/printable.ts';
import { renderSummary } from '../../report/render/console.ts';
import { exitCodeOfRuns } from '../series/planned.ts';
import { endText, makeSeries } from '../series/series.ts';
import { addHelp, printJson, RUN_CODES, screen, withJson } from './command.ts';

interface Options {
  results: string;
  json?: boolean;
}

export function addStudy(program: Command): void {
  const command = program
    .command('study')
    .description('Runs every combination of settings several times and reports which differences exceed the noise.')
    .argument('<file>', 'a study, as YAML: those of the pack are in scenarios/studies/')
    .option('--results <folder>', 'where to create the folder of the study, or to resume it', 'results')
    .action(run);
  addHelp(withJson(command), {
    examples: {
      'study scenarios/studies/tls.yml': 'starts the study, or resumes it after a stop',
    },
    exitCodes: { ...RUN_CODES, 130: 'stopped by Ctrl-C; the same command resumes the study' },
  });
}

async function run(path: string, { results, json }: Options): Promise<void> {
  // Loaded on demand, because it imports the charts and the server's settings, which load slowly.
  const { readStudyFile, studySeries } = await import('./study/study-file.ts');
  const file = await readStudyFile(path);
  const series = studySeries(file, results);
  console.error(harmless(`${file.title || file.name}\n${file.plan.scenario}`));
  const { document, runs, isStopped } = await makeSeries(series);
  process.exitCode = isStopped ? exitCodeOf('stopped') : exitCodeOfRuns(runs);
  if (json) printJson(document);
  else console.log(endText(series, renderSummary(series.reportOf(document, runs), ['missing', 'doubts'], screen())));
}
