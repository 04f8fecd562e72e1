/** `doctor <scenario.yml>`: whether this machine and stack can hold the connections of a scenario. */
import type { Command } from 'commander';
import { EXIT_CODES } from '../../protocol/codes/exit-codes.ts';
import { diagnose } from '../doctor/diagnosis.ts';
import { requireOpenFiles } from '../doctor/preflight.ts';
import { printDiagnosis } from '../doctor/print.ts';
import { readSituation } from '../doctor/situation.ts';
import { STEPS } from '../engine/steps/index.ts';
import { readSettings } from '../script/settings.ts';
import { addHelp, printJson, screen, withJson } from './command.ts';
import { readScenario } from './scenario.ts';

interface Options {
  environment?: string;
  json?: boolean;
}

export function addDoctor(program: Command): void {
  const command = program
    .command('doctor')
    .description('Reports how many connections this machine, this stack and this target allow, before any load.')
    .argument('<scenario>', 'an Artillery scenario, as YAML')
    .option('-e, --environment <name>', 'one of the scenario’s config.environments')
    .action(examine);
  addHelp(withJson(command), {
    examples: {
      'doctor scenarios/32k.yml': 'does it fit, and which limit is the lowest?',
      'doctor scenarios/100k.yml --json': 'all limits, warnings and the facts behind them',
    },
    exitCodes: { 0: 'the scenario fits', 2: 'it does not fit, or this could not be determined' },
  });
}

async function examine(path: string, { environment, json }: Options): Promise<void> {
  requireOpenFiles();
  const script = await readScenario(path, environment);
  const situation = await readSituation(readSettings(script, STEPS, process.env));
  const diagnosis = diagnose(situation);
  if (json) printJson({ ...diagnosis, ...situation });
  else console.log(printDiagnosis(diagnosis, situation, screen().width));
  if (!diagnosis.fits || diagnosis.missing.length > 0) process.exitCode = EXIT_CODES.refused;
}
