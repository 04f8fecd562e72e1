/** Turns a scenario of another Socket.IO engine into one that is measured. */
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { attempt } from '../../../protocol/base/attempt.ts';
import type { Path, Problem } from '../../../protocol/base/problems.ts';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import { InvalidSettings } from '../../script/invalid-settings.ts';
import { verbOf } from '../../script/load/flow.ts';
import { connectionShape } from '../../script/options/connect-options.ts';
import { ENGINE_PATH } from '../../script/options/rewrites.ts';
import { ENGINE, PLUGIN, type Scenario, type Script } from '../../script/script.ts';
import type { Settings } from '../../script/settings.ts';
import { STEPS } from '../../virtual-user/steps/index.ts';
import { parseScenario, settingsOf } from '../scenario-argument.ts';
import { type Change, ScenarioDocument, TO_DECIDE } from './scenario-document.ts';

/** Artillery's own engine, and `artillery-engine-socketio-v3`. */
const OTHER_ENGINES = ['socketio', 'socketio-v3'];
const MAX_ROUNDS = 200;
/** More connections at once than a scenario had are held by default up to here. */
const MAX_HELD = 10_000;
const MANY_TIMES = 3;
const PAUSE_SECONDS = 4;
const MAX_PHASES = 10;
/** Keys of a scenario that only connects. */
const CONNECTING = ['name', 'engine', 'weight', 'socketio'];
/** A template of a variable, unlike one of the environment. */
const USER_TEMPLATE = /\{\{\s*(?!\s|\$env\.|\$processEnvironment\.)/;
const MAX_SHOWN_LENGTH = 80;
/** From this number on, a time is in milliseconds. */
const MILLISECONDS_FROM = 1000;

/** What functions of other engines use. */
const IN_PROCESSORS: [RegExp, string][] = [
  [
    /\bcontext\.sockets\b/,
    'a function uses context.sockets, but other processes hold them: receive events with the step on or waitFor',
  ],
  [
    /\bcontext\.socketio\b/,
    'a function sets context.socketio, which no engine reads: set a variable, and write connect: {auth: …}',
  ],
];

export interface Adopted {
  text: string;
  changes: (Change & { why: string })[];
  /** What was left out, and what the user has to decide. */
  undecided: { line: number | undefined; why: string }[];
  /** What a run still refuses. */
  problems: Problem[];
  holds: boolean;
  /** Variables of the environment that the scenario reads. */
  variables: string[];
}

/**
 * @param text of the file
 * @param path of the file that it becomes, for the paths in it
 * @param holds whether the virtual users stay; undefined: whichever measures more, without many times the load
 * @throws what `parseScenario` throws; Error if it is not YAML
 */
export async function adopted(text: string, path: string, holds: boolean | undefined): Promise<Adopted> {
  const document = new ScenarioDocument(text);
  const adoption = new Adoption(document, path);
  adoption.quote();
  await adoption.read();
  adoption.changeEngine();
  await adoption.solve();
  const settings = await adoption.settings();
  const isHeld = holds ?? (settings !== undefined && isHoldable(settings));
  adoption.end(isHeld);
  const problems = await adoption.problems();
  return {
    text: document.toString(),
    changes: adoption.changes,
    undecided: adoption.undecided,
    problems,
    holds: isHeld,
    variables: adoption.variables,
  };
}

function isHoldable({ load: { connections, connectionsAtOnce } }: Settings): boolean {
  return connections <= MAX_HELD || connections <= MANY_TIMES * connectionsAtOnce;
}

class Adoption {
  readonly changes: Adopted['changes'] = [];
  readonly undecided: Adopted['undecided'] = [];
  readonly #document: ScenarioDocument;
  readonly #path: string;

  constructor(document: ScenarioDocument, path: string) {
    this.#document = document;
    this.#path = path;
  }

  get variables(): string[] {
    const names = this.#document.toString().matchAll(/\$(?:env|processEnvironment)\.(\w+)/g);
    return [...new Set([...names].map(([, name = '']) => name))];
  }

  /** @throws as `parseScenario` */
  read(): Promise<Script> {
    return parseScenario(this.#document.toString(), this.#path);
  }

  quote(): void {
    const why = 'without quotes, YAML takes a template for a map';
    for (const { line, before, after } of this.#document.quoteTemplates())
      this.changes.push({ line, before, after, why });
  }

  changeEngine(): void {
    const { config, scenarios } = this.#scenario();
    const engines = Object(config.engines) as Record<string, unknown>;
    const isOther = (engine: unknown) => OTHER_ENGINES.includes(String(engine));
    const places: Path[] = [
      ...(isOther(config.engine) ? [['config', 'engine']] : []),
      ...scenarios.flatMap((scenario, index) => {
        const { engine = config.engine } = scenario;
        const isOwn = isOther(scenario.engine) || (engine === undefined && hasSocketSteps(scenario));
        return isOwn ? [['scenarios', index, 'engine']] : [];
      }),
    ];
    for (const [index, scenario] of scenarios.entries()) {
      if ((scenario.engine ?? config.engine) !== undefined || hasSocketSteps(scenario)) continue;
      this.#set(['scenarios', index, 'engine'], 'http', 'Artillery sends HTTP requests without an engine');
    }
    for (const place of places)
      this.#set(place, ENGINE, 'this engine keeps an account of every connection and every copy');
    this.#requireEngine();
    const old = OTHER_ENGINES.filter((engine) => engine in engines);
    const before = Object.assign(
      {},
      ...old.map((engine) => engines[engine]).map(Object),
      Object(config['socketio-v3']),
    );
    const options = { ...before, ...Object(engines[ENGINE]) };
    const known = { ...Object(config.socketio), ...options };
    if (places.length > 0 && !('transports' in known || 'upgrade' in known))
      options.transports = ['polling', 'websocket'];
    // In the options of `socket.io-client`, it is the time to connect.
    if (typeof known.timeout === 'number' && known.timeout >= MILLISECONDS_FROM) {
      options.connectTimeout = `${known.timeout}ms`;
      delete options.timeout;
      this.#document.remove(['config', 'socketio', 'timeout']);
    }
    for (const place of [ENGINE_PATH, ['config', 'socketio']])
      this.#perUser(place, place === ENGINE_PATH ? options : config.socketio);
    const [first, ...others] = old;
    if (first && !(ENGINE in engines)) this.#document.rename(['config', 'engines', first], ENGINE);
    for (const engine of others) this.#document.remove(['config', 'engines', engine]);
    this.#document.remove(['config', 'socketio-v3']);
    if (!isDeepStrictEqual(engines[ENGINE], options)) {
      const line = this.#document.lineOf(ENGINE_PATH);
      if (!first || !isDeepStrictEqual(Object(engines[first]), options)) this.#document.set(ENGINE_PATH, options);
      const why = 'the clients connect as before: polling first, unless the options say otherwise';
      this.changes.push({ line, before: first ? { [first]: engines[first] } : {}, after: { [ENGINE]: options }, why });
    }
    if (!(PLUGIN in Object(config.plugins)))
      this.#set(['config', 'plugins', PLUGIN], {}, 'the plugin measures the run');
    if (config.ensure !== undefined && !('ensure' in Object(config.plugins))) {
      this.#set(['config', 'plugins', 'ensure'], {}, 'Artillery checks config.ensure only with this plugin');
    }
  }

  /** Options that differ between users belong to the scenario: Artillery fills those of `config` before there is a user. */
  #perUser(place: Path, options: unknown): void {
    const given = Object(options) as Record<string, unknown>;
    const own = Object.keys(given).filter(
      (key) => key in connectionShape && USER_TEMPLATE.test(JSON.stringify(given[key])),
    );
    const { config, scenarios } = this.#scenario();
    for (const key of own) {
      const { [key]: value } = given;
      const line = this.#document.lineOf(['config']);
      delete given[key];
      this.#document.remove([...place, key]);
      for (const [index, { engine = config.engine }] of scenarios.entries()) {
        if (engine === ENGINE) this.#document.set(['scenarios', index, 'socketio', key], value);
      }
      const why = 'in config, Artillery fills templates before there are users';
      this.changes.push({
        line,
        before: { [key]: value },
        after: { [`socketio.${key} of the scenarios`]: value },
        why,
      });
    }
  }

  /** @throws CapacityError CONFIG_INVALID */
  #requireEngine(): void {
    const { config, scenarios } = this.#scenario();
    if (scenarios.some(({ engine = config.engine }) => engine === ENGINE)) return;
    const message = `no scenario has the engine ${OTHER_ENGINES.join(' or ')}, or sends a Socket.IO event`;
    throw new CapacityError('CONFIG_INVALID', message, 'for a server without a scenario: npx socketio-capacity init');
  }

  /** Rewrites what the refusals know, and leaves out the rest of what no engine reads. */
  async solve(): Promise<void> {
    this.#readProcessor();
    for (const [index, scenario] of this.#scenario().scenarios.entries()) {
      const isWithout = Object.keys(scenario).every((key) => CONNECTING.includes(key));
      if (isWithout)
        this.#set(['scenarios', index, 'flow'], [{ connect: true }], 'the engine connected without a flow');
    }
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const problems = (await this.problems()).filter((one) => this.#isSolvable(one));
      const problem = problems.find(({ rewrite }) => rewrite) ?? problems[0];
      if (!problem) return;
      const { message, at = [], unfilled } = problem;
      const change = this.#document.rewrite(problem);
      if (change) this.changes.push({ ...change, why: reasonOf(problem, change) });
      else if (unfilled !== undefined && /^\$?\w+([.[]|$)/.test(unfilled))
        this.#declare(unfilled.split(/[.[]/)[0] as string, at);
      else this.#leaveOut(at, message);
    }
  }

  /** Looks for what functions of other engines do, and none here can. */
  #readProcessor(): void {
    const processor = this.#document.valueAt(['config', 'processor']);
    const file = typeof processor === 'string' ? resolve(dirname(this.#path), processor) : undefined;
    const source = file === undefined ? '' : (attempt(() => readFileSync(file, 'utf8')) ?? '');
    const line = this.#document.lineOf(['config', 'processor']);
    for (const [pattern, why] of IN_PROCESSORS) if (pattern.test(source)) this.undecided.push({ line, why });
  }

  #isSolvable({ at = [], isUnknownKey, rewrite, unfilled }: Problem): boolean {
    if (!this.#document.has(at)) return false;
    const isOfScenario = at[0] === 'scenarios' && at.length > 2;
    return rewrite !== undefined || isUnknownKey === true || unfilled !== undefined || isOfScenario;
  }

  /** Keeps what a template without a value did: it sent nothing. */
  #declare(name: string, at: Path): void {
    const why = `nothing sets ${name}, so it stays empty, as before: write its values into config.variables`;
    this.undecided.push({ line: this.#document.lineOf(at), why });
    this.#document.set(['config', 'variables', name], [''], `${TO_DECIDE}${why}`);
  }

  /** @param at of a key or a value; in a flow, an invalid step is left out as a whole */
  #leaveOut(at: Path, message: string): void {
    const line = this.#document.lineOf(at);
    const owner = this.#document.valueAt(at.slice(0, -1));
    const isKey = typeof at.at(-1) === 'string' && Object.keys(Object(owner)).length > 1;
    const isOfStep = at.length === flowDepth(at) + 1;
    const isWhole = flowDepth(at) > 0 && !(isKey && (isOfStep ? verbOf(owner, STEPS) !== at.at(-1) : true));
    const path = isWhole ? at.slice(0, flowDepth(at)) : at;
    const value = JSON.stringify(this.#document.valueAt(path)) ?? '';
    const shown = `${isWhole ? '' : `${path.at(-1)}: `}${value.slice(0, MAX_SHOWN_LENGTH)}`;
    this.undecided.push({ line, why: `left out ${shown}: ${message}` });
    this.#document.remove(path, `${TO_DECIDE}left out ${shown}: ${message}`);
  }

  /** Returns what a run would refuse. */
  async problems(): Promise<Problem[]> {
    try {
      settingsOf(await this.#resolved(), this.#environment());
      return [];
    } catch (error) {
      if (error instanceof InvalidSettings) return error.problems;
      if (error instanceof CapacityError) return [{ path: 'config', message: error.message }];
      throw error;
    }
  }

  async settings(): Promise<Settings | undefined> {
    if ((await this.problems()).length > 0) return undefined;
    return settingsOf(await this.#resolved(), this.#environment());
  }

  /** With values for variables of the environment that are not set here. */
  async #resolved(): Promise<Script> {
    const missing = this.variables.filter((name) => process.env[name] === undefined);
    Object.assign(process.env, Object.fromEntries(missing.map((name) => [name, this.#environment()[name]])));
    try {
      return await this.read();
    } finally {
      for (const name of missing) delete process.env[name];
    }
  }

  #environment(): NodeJS.ProcessEnv {
    const target = String(this.#document.valueAt(['config', 'target']));
    const values = this.variables.map((name) => [name, target.includes(name) ? 'http://localhost' : '1']);
    return { ...Object.fromEntries(values), ...process.env };
  }

  /** Ends each flow by `hold`, and gives each level of connections a pause; or leaves both as they are. */
  end(holds: boolean): void {
    const { config, scenarios } = this.#scenario();
    if (!holds) return;
    for (const [index, scenario] of scenarios.entries()) {
      const { flow, engine = config.engine } = scenario;
      const at: Path = ['scenarios', index, 'flow'];
      if (engine !== ENGINE || !Array.isArray(flow) || flow.some((step) => 'hold' in Object(step))) continue;
      if (isEndless(flow.at(-1))) {
        const why = 'its last step never ends: write a `count`, or `every` and then hold: true';
        this.undecided.push({ line: this.#document.lineOf([...at, flow.length - 1]), why });
        continue;
      }
      let length = flow.length;
      // Staying replaces what comes after the last message.
      for (; length > 0 && isEnd(flow[length - 1]); length--) {
        const before = flow[length - 1] as Record<string, unknown>;
        this.changes.push({
          line: this.#document.lineOf([...at, length - 1]),
          ...{ before, after: {}, why: 'the users stay instead' },
        });
        this.#document.remove([...at, length - 1]);
      }
      this.#document.append(at, { hold: true });
      this.changes.push({
        line: undefined,
        ...{
          before: {},
          after: { hold: true },
          why: 'stays until all is measured; --leave keeps the users coming and going',
        },
      });
    }
    const phases = [config.phases ?? []].flat();
    if (phases.length > MAX_PHASES || phases.some((phase) => 'pause' in Object(phase))) return;
    for (let index = phases.length; index > 0; index--) {
      this.#document.append(['config', 'phases'], { pause: PAUSE_SECONDS }, index);
    }
    this.changes.push({
      line: this.#document.lineOf(['config', 'phases']),
      ...{
        before: {},
        after: { pause: PAUSE_SECONDS },
        why: 'after each phase: memory is read while the connections are idle',
      },
    });
  }

  #set(path: Path, value: unknown, why: string): void {
    const name = String(path.at(-1));
    const before = this.#document.valueAt(path);
    const line = this.#document.lineOf(path.slice(0, before === undefined ? -1 : undefined));
    this.#document.set(path, value);
    this.changes.push({ line, before: before === undefined ? {} : { [name]: before }, after: { [name]: value }, why });
  }

  #scenario(): { config: Record<string, unknown>; scenarios: Scenario[] } {
    const [config, scenarios] = [['config'], ['scenarios']].map((path) => this.#document.valueAt(path));
    const list = Array.isArray(scenarios) ? scenarios : [];
    return { config: Object(config), scenarios: list.map((one) => Object(one) as Scenario) };
  }
}

/** Returns the length of the path of the innermost step; 0 outside of flows. */
function flowDepth(path: Path): number {
  const isStep = (index: number) =>
    ['flow', 'loop'].includes(String(path[index - 1])) && typeof path[index] === 'number';
  return path.reduce<number>((depth, _, index) => (path[0] === 'scenarios' && isStep(index) ? index + 1 : depth), 0);
}

function hasSocketSteps({ flow }: Scenario): boolean {
  return [flow ?? []].flat().some((step) => 'emit' in Object(step));
}

function isEndless(step: unknown): boolean {
  const { loop, count = -1, over, whileTrue } = Object(step);
  return loop !== undefined && Number(count) === -1 && over === undefined && whileTrue === undefined;
}

function isEnd(step: unknown): boolean {
  const { think, disconnect } = Object(step);
  return think !== undefined || disconnect !== undefined;
}

/** Returns why a name was changed; where another one replaces it, the change itself is the rest of the message. */
function reasonOf({ message, at = [], isUnknownKey }: Problem, { after }: Change): string {
  return isUnknownKey && Object.keys(after).length > 0 ? `nothing reads ${at.at(-1)}` : message;
}
