/** Moves scenarios that run on other Socket.IO engines to this engine, with the same connection options. */
import { isDeepStrictEqual } from 'node:util';
import type { ProblemPath } from '../../../protocol/base/problems.ts';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import { connectionShape } from '../../script/options/connect-options.ts';
import { ENGINE_SETTINGS_PATH } from '../../script/options/rewrites.ts';
import { ENGINE_NAME, PLUGIN_NAME, type Scenario } from '../../script/script.ts';
import type { AdoptionDraft } from './draft.ts';
import { replaceWebSocketFrames } from './websocket-frames.ts';

/** Name of Artillery's own Socket.IO engine. */
const OWN_ENGINE = 'socketio';
/** Matches names of Socket.IO engines, including wrong names that a user might guess. */
const OTHER_ENGINE = /^socket[.-]?io(-v?[34])?$/i;
const OLD_ENGINE = /^socket[.-]?io-v?2$/i;
/** Matches a template other than a template of an environment variable. */
const USER_TEMPLATE = /\{\{\s*(?!\s|\$env\.|\$processEnvironment\.)/;
/** Smallest time-out that `adopt` reads as milliseconds. Smaller numbers are read as seconds. */
const MILLISECONDS_FROM = 1000;

/**
 * Moves scenarios that run on other engines to this engine.
 * @returns indexes of the scenarios that ran on Artillery's own engine
 * @throws CapacityError CONFIG_INVALID if no scenario uses Socket.IO
 */
export function moveScenariosToOwnEngine(draft: AdoptionDraft): number[] {
  const spoken = replaceWebSocketFrames(draft);
  const { config, scenarios } = draft.scenario();
  const engines = Object(config.engines) as Record<string, unknown>;
  const isOther = (engine: unknown) => OTHER_ENGINE.test(String(engine));
  const isOld = [config, ...scenarios].some(({ engine }) => OLD_ENGINE.test(String(engine)));
  if (isOld) {
    const fix = 'name the engine `socketio-v3` if the server is Socket.IO 3 or 4; upgrade an older server first';
    throw new CapacityError('CONFIG_INVALID', 'its engine is for Socket.IO 2, which is not supported', fix);
  }
  const places: ProblemPath[] = [
    ...(isOther(config.engine) ? [['config', 'engine']] : []),
    ...scenarios.flatMap((scenario, index) => {
      const { engine = config.engine } = scenario;
      const isOwn =
        spoken.includes(index) || isOther(scenario.engine) || (engine === undefined && hasSocketSteps(scenario));
      return isOwn ? [['scenarios', index, 'engine']] : [];
    }),
  ];
  for (const [index, scenario] of scenarios.entries()) {
    if ((scenario.engine ?? config.engine) !== undefined || places.some(([, place]) => place === index)) continue;
    draft.set(['scenarios', index, 'engine'], 'http', 'Artillery sends HTTP requests without an engine');
  }
  for (const place of places)
    draft.set(place, ENGINE_NAME, 'this engine keeps an account of every connection and every copy');
  requireEngine(draft);
  const old = Object.keys(engines).filter(isOther);
  const before = Object.assign({}, ...old.map((engine) => engines[engine]).map(Object), Object(config['socketio-v3']));
  const options = { ...before, ...Object(engines[ENGINE_NAME]) };
  const known = { ...Object(config.socketio), ...options };
  if (places.length > spoken.length && !('transports' in known || 'upgrade' in known))
    options.transports = ['polling', 'websocket'];
  // In options of `socket.io-client`, `timeout` limits the time for connecting. In this engine's options,
  // `connectTimeout` does.
  if (typeof known.timeout === 'number' && known.timeout >= MILLISECONDS_FROM) {
    options.connectTimeout = `${known.timeout}ms`;
    delete options.timeout;
    draft.document.remove(['config', 'socketio', 'timeout']);
  }
  for (const place of [ENGINE_SETTINGS_PATH, ['config', 'socketio']])
    perUser(draft, place, place === ENGINE_SETTINGS_PATH ? options : config.socketio);
  const [first, ...others] = old;
  if (first && !(ENGINE_NAME in engines)) draft.document.rename(['config', 'engines', first], ENGINE_NAME);
  for (const engine of others) draft.document.remove(['config', 'engines', engine]);
  draft.document.remove(['config', 'socketio-v3']);
  if (!isDeepStrictEqual(engines[ENGINE_NAME], options)) {
    const line = draft.document.lineOf(ENGINE_SETTINGS_PATH);
    if (!first || !isDeepStrictEqual(Object(engines[first]), options))
      draft.document.set(ENGINE_SETTINGS_PATH, options);
    const why =
      places.length > spoken.length
        ? 'the clients connect as before: polling first, unless the options say otherwise'
        : 'Artillery loads the engines that stand here';
    draft.changes.push({
      line,
      before: first ? { [first]: engines[first] } : {},
      after: { [ENGINE_NAME]: options },
      why,
    });
  }
  if (!(PLUGIN_NAME in Object(config.plugins)))
    draft.set(['config', 'plugins', PLUGIN_NAME], {}, 'the plugin measures the run');
  if (config.ensure !== undefined && !('ensure' in Object(config.plugins))) {
    draft.set(['config', 'plugins', 'ensure'], {}, 'Artillery checks config.ensure only with this plugin');
  }
  return [...scenarios.entries()].flatMap(([index, { engine = config.engine }]) =>
    engine === OWN_ENGINE ? index : [],
  );
}

/**
 * Adds a `connect` step at the start of a flow, because Artillery's own engine connects before the flow. Has no effect
 * if the flow begins with an `emit` to the main namespace, or has a `connect` step.
 */
export function addConnectStep(draft: AdoptionDraft, index: number): void {
  const at: ProblemPath = ['scenarios', index, 'flow'];
  const { flow = [] } = draft.scenario().scenarios[index] as Scenario;
  const steps = [flow].flat(2).map(Object);
  const [{ emit, namespace = '' } = {}] = steps;
  if ((emit !== undefined && namespace === '') || steps.some((step) => 'connect' in step)) return;
  const step = { connect: true };
  if (draft.document.has(at)) draft.document.append(at, step, 0);
  else draft.document.set(at, [step]);
  draft.note(undefined, {}, step, 'the engine connected before the flow');
}

/**
 * Moves connection options with templates from `config` to the scenarios. In `config`, Artillery fills templates before
 * there are virtual users.
 */
function perUser(draft: AdoptionDraft, place: ProblemPath, options: unknown): void {
  const given = Object(options) as Record<string, unknown>;
  const own = Object.keys(given).filter(
    (key) => key in connectionShape && USER_TEMPLATE.test(JSON.stringify(given[key])),
  );
  const { config, scenarios } = draft.scenario();
  for (const key of own) {
    const { [key]: value } = given;
    delete given[key];
    draft.document.remove([...place, key]);
    for (const [index, { engine = config.engine }] of scenarios.entries()) {
      if (engine === ENGINE_NAME) draft.document.set(['scenarios', index, 'socketio', key], value);
    }
    const why = 'in config, Artillery fills templates before there are users';
    draft.note(['config'], { [key]: value }, { [`socketio.${key} of the scenarios`]: value }, why);
  }
}

/**
 * Checks that a scenario uses this engine.
 * @throws CapacityError CONFIG_INVALID if no scenario does
 */
function requireEngine(draft: AdoptionDraft): void {
  const { config, scenarios } = draft.scenario();
  if (scenarios.some(({ engine = config.engine }) => engine === ENGINE_NAME)) return;
  const message = 'no scenario has the engine socketio or socketio-v3, or sends a Socket.IO event';
  throw new CapacityError('CONFIG_INVALID', message, 'for a server without a scenario: npx socketio-capacity init');
}

function hasSocketSteps({ flow }: Scenario): boolean {
  return [flow ?? []].flat().some((step) => 'emit' in Object(step) || 'emit' in Object(Object(step).socketio));
}
