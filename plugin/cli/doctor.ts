/**
 * `doctor`: checks whether this machine and its stack (the deployment that this tool starts) can hold the connections
 * of a scenario. If `--target` is given, checks whether the server at this URL can be measured.
 */
import type { Command } from 'commander';
import { escapeEachLine } from '../../protocol/base/printable.ts';
import { EXIT_CODES, STOPPED_EXIT_CODE } from '../../protocol/codes/exit-codes.ts';
import { diagnose, printDiagnosis, requireOpenFileLimit } from '../doctor/diagnosis.ts';
import { readDoctorSituation } from '../doctor/situation.ts';
import { examineTarget } from '../doctor/target/examine.ts';
import { printTargetCheck, type TargetCheck } from '../doctor/target/target-check.ts';
import type { DoctorWarning } from '../doctor/warnings.ts';
import { isMeasured } from '../script/misspelt-names.ts';
import { ENGINE_NAME, PLUGIN_NAME, type Script } from '../script/script.ts';
import { untilStopped } from '../series/artillery-arguments.ts';
import { addHelp, addJsonOption, invalidOptionError, printJson, terminalFormat } from './command.ts';
import { readScenario, settingsOfScript } from './scenario-argument.ts';

interface Options {
  target?: string;
  environment?: string;
  burst?: number;
  json?: boolean;
}

export function addDoctor(program: Command): void {
  const command = program
    .command('doctor')
    .description('Reports how many connections this machine, stack and target allow.')
    .argument('[scenario]', 'an Artillery scenario, as YAML')
    .option('--target <where>', 'a URL, or the scenario: tries everything between this machine and that server')
    .option('--burst <n>', 'with --target: also opens that many connections at once', parseBurst)
    .option('-e, --environment <name>', 'one of the scenario’s config.environments')
    .action(examine);
  addHelp(addJsonOption(command), {
    examples: {
      'doctor scenarios/32k.yml': 'does it fit, and which limit is the lowest?',
      'doctor scenarios/100k.yml --json': 'all limits, warnings and the facts behind them',
      'doctor --target https://staging.example.com': 'certificate, proxies, time-outs, before any load',
      'doctor --target capacity.yml': 'the same as the scenario connects, with its control ports',
    },
    exitCodes: {
      0: 'the scenario fits; with --target, no check has failed',
      2: 'it does not fit, or this could not be determined; with --target, a check has failed',
      [STOPPED_EXIT_CODE]: 'with --target: stopped by Ctrl-C',
    },
  });
}

async function examine(path: string | undefined, options: Options): Promise<void> {
  requireOpenFileLimit();
  const { target, environment, burst, json } = options;
  if (target !== undefined) return tryTarget(target, path, options);
  if (burst !== undefined) throw invalidOptionError('--burst: name a target, too', 'doctor');
  if (path === undefined) throw invalidOptionError('name a scenario, or a URL by --target', 'doctor');
  const script = await readScenario(path, environment);
  const situation = await readDoctorSituation(settingsOfScript(script));
  const diagnosis = diagnose(situation);
  if (!isMeasured(script)) diagnosis.warnings.unshift(UNMEASURED);
  if (json) printJson({ ...diagnosis, ...situation });
  else console.log(printDiagnosis(diagnosis, situation, terminalFormat().width));
  if (!diagnosis.fits || diagnosis.missing.length > 0) process.exitCode = EXIT_CODES.refused;
}

/** Largest number of connections that the doctor opens in a burst: enough for a test, but not a load. */
const MAX_BURST = 1000;

function parseBurst(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= MAX_BURST) return count;
  throw invalidOptionError(`--burst: expected a number from 1 to ${MAX_BURST}`, 'doctor');
}

async function tryTarget(where: string, path: string | undefined, options: Options): Promise<void> {
  const { environment, burst = 0, json } = options;
  const { settings, script } = await scenarioFor(where, path, environment);
  const { width } = terminalFormat();
  const onHold = (seconds: number) => console.error(`Holding one silent connection for ${Math.ceil(seconds)} s.`);
  const onCheck = json ? () => {} : (check: TargetCheck) => console.log(printTargetCheck(check, width));
  const checks = await untilStopped((signal) => {
    const stopped = new Promise<undefined>((resolve) => signal.addEventListener('abort', () => resolve(undefined)));
    return Promise.race([examineTarget(settings, script, { onCheck, onHold, burst }, signal), stopped]);
  });
  if (checks === undefined) {
    process.exitCode = STOPPED_EXIT_CODE;
    return;
  }
  const failed = checks.filter(({ status }) => status === 'failed').length;
  if (failed > 0) process.exitCode = EXIT_CODES.refused;
  if (json) return printJson({ target: settings.target, passed: failed === 0, checks });
  console.log(
    escapeEachLine(
      `\n${failed === 0 ? `${settings.target} can be measured.` : `${failed} of ${checks.length} checks failed.`}`,
    ),
  );
}

/**
 * Returns the scenario and settings to check.
 * @param where URL of the server, or path of a scenario
 * @param path path of the scenario, if `where` is a URL that replaces its target
 */
async function scenarioFor(where: string, path: string | undefined, environment: string | undefined) {
  const isUrl = /^(https?|wss?):\/\//.test(where);
  if (!isUrl && path !== undefined)
    throw invalidOptionError('--target: with a scenario before it, a URL is expected', 'doctor');
  const scenario = isUrl ? path : where;
  const script = scenario === undefined ? nothingElse() : await readScenario(scenario, environment);
  const env = isUrl ? { ...process.env, TARGET: where } : process.env;
  return { settings: settingsOfScript(script, env), script };
}

/**
 * Warning for a scenario that uses the engine without the plugin. Artillery runs such a scenario, but nothing measures
 * the server.
 */
const UNMEASURED: DoctorWarning = {
  name: 'unmeasured',
  message: 'the scenario has no plugin socketio-capacity: Artillery makes the load, and nothing measures the server',
  raise: 'config.plugins: { socketio-capacity: {} }',
};

/** Returns a minimal scenario: a single connection that stays open. */
function nothingElse(): Script {
  return {
    config: {
      engines: { [ENGINE_NAME]: {} },
      plugins: { [PLUGIN_NAME]: {} },
      phases: [{ duration: 1, arrivalRate: 1 }],
    },
    scenarios: [{ engine: ENGINE_NAME, flow: [{ connect: {} }, { hold: true }] }],
  };
}
