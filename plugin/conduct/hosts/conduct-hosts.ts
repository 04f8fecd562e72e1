/**
 * Conducts a run whose load comes from several hosts. It opens and closes the listener, the measured run, and the
 * commands that start hosts.
 */
import { addAbortListener } from 'node:events';
import { ownRelease } from '../../../protocol/base/release.ts';
import { exitCodeOfOutcome } from '../../../protocol/codes/exit-codes.ts';
import { findingOfObservation } from '../../findings/checks/observed/observed.ts';
import { EngineLink } from '../../run/link.ts';
import { resultWithin } from '../../run/wait.ts';
import { arrivalsOf } from '../../script/load/phases.ts';
import { digestRunInputs } from '../../script/run-inputs.ts';
import type { Script } from '../../script/script.ts';
import type { Settings } from '../../script/settings.ts';
import { MeasuredRun } from '../measured-run.ts';
import { logToTerminal, type RunTerminal } from '../terminal.ts';
import { requireOwnEngine } from './admission.ts';
import { loadEnsureEvaluation } from './ensure-evaluation.ts';
import { type AssignmentInputs, createAssigner } from './host-assignment.ts';
import { JOIN_TIMEOUT_MS, MAX_HOST_SILENCE_MS } from './host-messages.ts';
import { HostHub } from './hub.ts';
import { createConductorSecret } from './join-token.ts';
import { type HostLauncher, type LaunchedHosts, launchHosts } from './launch/launch.ts';
import { openConductorListener } from './listener.ts';
import { readSecret } from './secret-folder.ts';

/**
 * Time limit for Artillery to end on all hosts after the run, in milliseconds. After it, the conductor no longer waits
 * for the hosts.
 */
const END_TIMEOUT_MS = 20_000;
const LAUNCH_GRACE_MS = 10_000;

interface ConductOptions {
  script: Script;
  /** Settings for the whole scenario, not for the share of one host. */
  config: Settings;
  /** Scenario file. */
  path: string;
  artilleryVersion: string;
  /** Path of the folder in which the package `artillery` is installed. */
  artillery: string;
  hosts: number;
  listen: { host: string; port: number };
  /** Address at which the hosts can connect to this host. */
  address: string;
  /** Folder of the secret (token and certificate). If undefined, a new token and certificate are created. */
  secret: string | undefined;
  /** Starts the hosts; undefined if the user starts them. */
  launcher?: HostLauncher | undefined;
  /** Arguments, variables and scenario path that the hosts receive. */
  inputs?: Omit<AssignmentInputs, 'path' | 'hosts'>;
  /** Signal that aborts on Ctrl-C. */
  signal: AbortSignal;
  /** Time after which a disconnected host counts as lost. */
  lostAfterMs?: number;
}

/**
 * Conducts the run, and resolves when all its resources are closed.
 * @returns the exit code of the run
 * @throws CapacityError if the run is refused before any resource was opened
 */
export async function conductHosts(options: ConductOptions): Promise<number> {
  requireOwnEngine(options.config);
  const evaluate = await loadEnsureEvaluation(options.script, options.artillery);
  const secret = options.secret === undefined ? await createConductorSecret() : readSecret(options.secret);
  const listener = await openConductorListener(options.listen.host, options.listen.port, secret);
  try {
    return await measureThrough(listener, evaluate, options);
  } finally {
    await listener.close();
  }
}

async function measureThrough(
  listener: Awaited<ReturnType<typeof openConductorListener>>,
  evaluate: Awaited<ReturnType<typeof loadEnsureEvaluation>>,
  options: ConductOptions,
): Promise<number> {
  const { script, config, path, artilleryVersion, hosts, address, launcher, signal } = options;
  const { lostAfterMs = MAX_HOST_SILENCE_MS } = options;
  const terminal = ownTerminal();
  const over = Promise.withResolvers<'left' | 'ended' | 'stopped'>();
  const completed = config.phases.length - 1;
  let launched: LaunchedHosts | undefined;
  const arrivals = config.phases.map(arrivalsOf);
  const hub = new HostHub(
    listener,
    { hosts, version: ownRelease(), inputs: digestRunInputs(script, process.env), arrivals },
    {
      onNote: (text) => logToTerminal(terminal, text),
      onRefused: (error) => run.end(error),
      onPhase: (index, stage) => {
        if (stage === 'started') run.phaseStarted(index);
        else if (index === completed) run.phasesCompleted();
      },
      onLost: (host, why) => {
        const fact = { host, why };
        run.measurements.observations.note('hostLost', fact, host);
        logToTerminal(terminal, `${findingOfObservation('hostLost', fact).message}.`);
      },
      onMachine: ({ windows }, row) => windows.add(row, run.measurements),
      onSkipped: (users) => {
        run.measurements.skippedUsers = users;
      },
    },
    lostAfterMs,
  );
  const admit = async () => {
    signal.throwIfAborted();
    const joinToken = listener.joinToken(address);
    listener.giveOrders(createAssigner({ ...options.inputs, path, hosts }, process.env));
    if (launcher) launched = launchHosts(launcher(joinToken, hosts), terminal.print);
    else terminal.print(options.secret === undefined ? joinText(joinToken, hosts) : waitText(options.secret, hosts));
    const aborts = launched ? [signal, launched.failed] : [signal];
    await hub.joined(JOIN_TIMEOUT_MS, AbortSignal.any(aborts));
    listener.giveOrders(() => undefined);
  };
  const run = new MeasuredRun({
    script,
    config,
    scriptPath: path,
    link: new EngineLink(hub, { hosts, awayMs: lostAfterMs }),
    hosts: () => hub.hosts.map(({ measured }) => measured),
    terminal,
    artilleryVersion,
    evaluate:
      evaluate &&
      ((result) =>
        evaluate(
          result,
          hub.hosts.map(({ totals }) => totals),
        )),
    admit,
    end: async () => over.resolve('ended'),
  });
  // Unlike `addEventListener`, this also handles a signal that is already aborted.
  addAbortListener(signal, () => over.resolve('stopped'));
  hub.left().then(() => over.resolve('left'), over.reject);
  const how = await over.promise;
  // All hosts may have left before the residual memory is measured, so `report` is awaited.
  await run.report(how !== 'left');
  // A run whose hosts leave before the load has no result.
  const isWhole = how === 'left' && run.hasResult;
  const exitCode = how === 'stopped' ? exitCodeOfOutcome('stopped') : run.exitCode;
  const why = isWhole ? 'The run is over.' : 'The conductor has ended the run; see its output.';
  // The hosts are ended before their engines close. Otherwise, Artillery would end there with exit code 0.
  hub.end(isWhole ? exitCodeOfOutcome('stopped') : exitCode, why);
  await run.close();
  await resultWithin(hub.left(), END_TIMEOUT_MS);
  hub.stop();
  // The listener closes before the commands that start hosts are ended, because hosts wait until their connections are
  // closed.
  await listener.close();
  await launched?.end(signal.aborted ? 0 : LAUNCH_GRACE_MS);
  return exitCode;
}

function ownTerminal(): RunTerminal {
  const listeners: (() => void)[] = [];
  return {
    quiet: false,
    print: (text) => {
      for (const listener of listeners) listener();
      console.log(text);
    },
    beforeLine: (listener) => listeners.push(listener),
  };
}

/** Omits the join token, because the owner of the secret has it, and the output may be stored as a log. */
function waitText(secret: string, hosts: number): string {
  return `Waiting for ${hosts} host${hosts === 1 ? '' : 's'} with the join token of the secret in ${secret}.`;
}

function joinText(joinToken: string, hosts: number): string {
  return [
    `On each of ${hosts} host${hosts === 1 ? '' : 's'}, in a folder with the same packages and scenario:`,
    `  CAPACITY_CONDUCTOR='${joinToken}' npx socketio-capacity host`,
    'Anyone with this command can join the run: treat it like a password.',
  ].join('\n');
}
