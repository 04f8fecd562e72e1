/** `study <file>`: what changes when a setting changes. */
import type { Command } from 'commander';
import { STOPPED } from '../../protocol/codes/exit-codes.ts';
import { exitCodeOf, measuredRuns } from '../series/planned.ts';
import { artilleryScript } from '../series/run.ts';
import { runSeries } from '../series/series.ts';
import { untilStopped } from '../series/until-stopped.ts';
import { addHelp, printJson, RUN_CODES, screen, withJson } from './command.ts';

interface Options {
  list?: boolean;
  results: string;
  json?: boolean;
}

export function addStudy(program: Command): void {
  const command = program
    .command('study')
    .description('Runs every combination of settings several times and reports which differences exceed the noise.')
    .argument('[file]', 'a study, as YAML')
    .option('--list', 'lists the studies of the pack')
    .option('--results <folder>', 'where to create the folder of the study, or to resume it', 'results')
    .action((file: string | undefined, options: Options) => {
      if (options.list) return list(options);
      return file === undefined
        ? command.error('error: name a study, or list those of the pack: --list')
        : run(file, options);
    });
  addHelp(withJson(command), {
    examples: {
      'study --list': 'the studies of the pack, and what each one asks',
      'study scenarios/studies/tls.yml': 'starts the study, or resumes it after a stop',
    },
    exitCodes: { ...RUN_CODES, 130: 'stopped by Ctrl-C; the same command resumes the study' },
  });
}

async function list({ json }: Options): Promise<void> {
  const { listStudies } = await import('./study/list.ts');
  const studies = listStudies();
  if (json) printJson(studies);
  else for (const { path, title } of studies) console.log(`${path}\n  ${title}`);
}

async function run(path: string, { results, json }: Options): Promise<void> {
  // Loaded on demand, because they import the charts and the server's settings, which load slowly.
  const [{ readStudyFile }, { unmetNeeds }, { studySeries }, { beginningOf, endingOf }] = await Promise.all([
    import('./study/study-file.ts'),
    import('./study/needs.ts'),
    import('./study/series.ts'),
    import('./study/text.ts'),
  ]);
  const file = await readStudyFile(path);
  const unmet = await unmetNeeds(file.plan);
  const series = studySeries(file, results, unmet);
  console.error(beginningOf(file, unmet));
  await untilStopped(async (signal) => {
    const { document, runs } = await runSeries(series, { artillery: artilleryScript(), signal, say: console.error });
    process.exitCode = signal.aborted ? STOPPED : exitCodeOf(document.runs);
    if (json) printJson(document);
    else console.log(endingOf(document, measuredRuns(runs), series.folder, screen()));
  });
}
