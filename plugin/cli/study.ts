/** `study <file>`: what changes when a setting changes. */
import type { Command } from 'commander';
import { worstExitCode } from '../../protocol/codes/exit-codes.ts';
import { addHelp, printJson, withJson } from './command.ts';
import { artilleryScript } from './runs/child-run.ts';
import { STOPPED, untilStopped } from './runs/until-stopped.ts';

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
    exitCodes: {
      0: 'all runs are VALID',
      1: 'a run missed a threshold',
      2: 'the study was refused, or one of its runs, which is a hole in it',
      3: 'a run is SUSPECT',
      4: 'a run is INVALID',
      11: 'Artillery crashed in one of the runs',
      130: 'stopped by Ctrl-C; the same command resumes the study',
    },
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
  const [{ readStudyFile }, { runStudy }, progress] = await Promise.all([
    import('./study/study-file.ts'),
    import('./study/run-study.ts'),
    import('./study/progress.ts'),
  ]);
  const file = await readStudyFile(path);
  await untilStopped(async (signal) => {
    const { study, folder, runs } = await runStudy({
      artillery: artilleryScript(),
      file,
      results,
      signal,
      onStart: (begun, unmet) => console.error(progress.begun(begun, unmet)),
      onRun: (planned, before) => console.error(progress.running(planned, before)),
      onEnd: (ended) => console.error(progress.ended(ended)),
    });
    process.exitCode = signal.aborted ? STOPPED : worstExitCode(study.runs.map(({ exitCode }) => exitCode));
    if (json) printJson(study);
    else console.log(progress.outcome(study, runs, folder));
  });
}
