/** Converts a scenario for another Socket.IO engine to a scenario that this tool can measure. */
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { InputProblem, ProblemPath } from '../../../protocol/base/problems.ts';
import { tryOrUndefined } from '../../../protocol/base/try-or-undefined.ts';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import { InvalidSettings } from '../../script/invalid-settings.ts';
import { stepName } from '../../script/load/flow.ts';
import type { Script } from '../../script/script.ts';
import type { Settings } from '../../script/settings.ts';
import { STEP_KINDS } from '../../virtual-user/steps/index.ts';
import { settingsOfScript } from '../scenario-argument.ts';
import { AdoptionDraft } from './draft.ts';
import { addConnectStep, moveScenariosToOwnEngine } from './engine-change.ts';
import { addHoldSteps, canHoldAllUsers } from './held-flows.ts';
import { type ScenarioChange, TO_DECIDE_COMMENT } from './scenario-document.ts';

const MAX_ROUNDS = 200;
const MAX_SHOWN_LENGTH = 80;

/**
 * Matches features of other engines in the code of the user's functions. Each pattern has a suggestion for a
 * replacement.
 */
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

export interface AdoptedScenario extends Pick<AdoptionDraft, 'changes' | 'undecided' | 'variables'> {
  text: string;
  /** Problems of the scenario that remain after the conversion. A run would refuse the scenario because of them. */
  problems: InputProblem[];
  holds: boolean;
}

/**
 * Converts a scenario.
 * @param text text of the scenario
 * @param path path of the new file, to which paths in the scenario are relative
 * @param holds whether the virtual users stay connected; undefined to decide by their number
 * @throws errors of `parseScenario`; Error if the text is not YAML
 */
export async function adoptScenario(text: string, path: string, holds: boolean | undefined): Promise<AdoptedScenario> {
  const draft = new AdoptionDraft(text, path);
  quote(draft);
  await draft.read();
  const ofOwnEngine = moveScenariosToOwnEngine(draft);
  await solve(draft);
  for (const index of ofOwnEngine) addConnectStep(draft, index);
  const { settings } = await examine(draft);
  const isHeld = holds ?? (settings !== undefined && canHoldAllUsers(settings));
  if (isHeld) addHoldSteps(draft);
  const { problems } = await examine(draft);
  const { document, changes, undecided, variables } = draft;
  return { text: document.toString(), changes, undecided, problems, holds: isHeld, variables };
}

function quote(draft: AdoptionDraft): void {
  const why = 'without quotes, YAML takes a template for a map';
  for (const { line, before, after } of draft.document.quoteTemplates())
    draft.changes.push({ line, before, after, why });
}

/** Rewrites the parts of the scenario that have known problems. Removes all other parts that no engine reads. */
async function solve(draft: AdoptionDraft): Promise<void> {
  readProcessor(draft);
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const problems = (await examine(draft)).problems.filter((one) => isSolvable(draft, one));
    const problem = problems.find(({ rewrite }) => rewrite) ?? problems[0];
    if (!problem) return;
    const { message, at = [], unfilled } = problem;
    const change = draft.document.rewrite(problem);
    if (change) draft.changes.push({ ...change, why: reasonOf(problem, change) });
    else if (unfilled !== undefined && /^\$?\w+([.[]|$)/.test(unfilled))
      declare(draft, unfilled.split(/[.[]/)[0] as string, at);
    else leaveOut(draft, at, message);
  }
}

/** Reports features of other engines that the user's functions use and this engine does not have. */
function readProcessor(draft: AdoptionDraft): void {
  const processor = draft.document.valueAt(['config', 'processor']);
  const file = typeof processor === 'string' ? resolve(dirname(draft.path), processor) : undefined;
  const source = file === undefined ? '' : (tryOrUndefined(() => readFileSync(file, 'utf8')) ?? '');
  const line = draft.document.lineOf(['config', 'processor']);
  for (const [pattern, why] of IN_PROCESSORS) if (pattern.test(source)) draft.undecided.push({ line, why });
}

function isSolvable(draft: AdoptionDraft, { at = [], isUnknownKey, rewrite, unfilled }: InputProblem): boolean {
  if (!draft.document.has(at)) return false;
  const isOfScenario = at[0] === 'scenarios' && at.length > 2;
  return rewrite !== undefined || isUnknownKey === true || unfilled !== undefined || isOfScenario;
}

/**
 * Declares an empty variable for a template whose variable is missing. Artillery filled the template with nothing
 * before, too.
 */
function declare(draft: AdoptionDraft, name: string, at: ProblemPath): void {
  const why = `nothing sets ${name}, so it stays empty, as before: write its values into config.variables`;
  draft.undecided.push({ line: draft.document.lineOf(at), why });
  draft.document.set(['config', 'variables', name], [''], `${TO_DECIDE_COMMENT}${why}`);
}

/**
 * Removes a part of the scenario that has no equivalent in this engine.
 * @param at path of a key or a value; an invalid step of a flow is removed completely
 */
function leaveOut(draft: AdoptionDraft, at: ProblemPath, message: string): void {
  const line = draft.document.lineOf(at);
  const owner = draft.document.valueAt(at.slice(0, -1));
  const isEvent = at.at(-1) === 'channel';
  const isKey = typeof at.at(-1) === 'string' && !isEvent && Object.keys(Object(owner)).length > 1;
  const isOfStep = at.length === flowDepth(at) + 1;
  const isWhole = flowDepth(at) > 0 && !(isKey && (isOfStep ? stepName(owner, STEP_KINDS) !== at.at(-1) : true));
  const path = isWhole ? at.slice(0, flowDepth(at)) : at;
  const value = JSON.stringify(draft.document.valueAt(path)) ?? '';
  const shown = `${isWhole ? '' : `${path.at(-1)}: `}${value.slice(0, MAX_SHOWN_LENGTH)}`;
  draft.undecided.push({ line, why: `left out ${shown}: ${message}` });
  draft.document.remove(path, `${TO_DECIDE_COMMENT}left out ${shown}: ${message}`);
}

/** Returns the settings of a run of the scenario, or the problems for which the run would be refused. */
async function examine(draft: AdoptionDraft): Promise<{ settings?: Settings; problems: InputProblem[] }> {
  try {
    return { settings: settingsOfScript(await resolved(draft), environmentOf(draft)), problems: [] };
  } catch (error) {
    if (error instanceof InvalidSettings) return { problems: error.problems };
    if (error instanceof CapacityError) return { problems: [{ path: 'config', message: error.message }] };
    throw error;
  }
}

/** Returns the scenario's script, with placeholder values for environment variables that are not set. */
async function resolved(draft: AdoptionDraft): Promise<Script> {
  const missing = draft.variables.filter((name) => process.env[name] === undefined);
  Object.assign(process.env, Object.fromEntries(missing.map((name) => [name, environmentOf(draft)[name]])));
  try {
    return await draft.read();
  } finally {
    for (const name of missing) delete process.env[name];
  }
}

function environmentOf(draft: AdoptionDraft): NodeJS.ProcessEnv {
  const target = String(draft.document.valueAt(['config', 'target']));
  const values = draft.variables.map((name) => [name, target.includes(name) ? 'http://localhost' : '1']);
  return { ...Object.fromEntries(values), ...process.env };
}

/** Returns the length of the beginning of the path that leads to the innermost step; 0 for a path outside of flows. */
function flowDepth(path: ProblemPath): number {
  const isStep = (index: number) =>
    ['flow', 'loop'].includes(String(path[index - 1])) && typeof path[index] === 'number';
  return path.reduce<number>((depth, _, index) => (path[0] === 'scenarios' && isStep(index) ? index + 1 : depth), 0);
}

/**
 * Returns the reason for a change of the scenario. If a key was renamed, the change itself shows the new name, so the
 * reason is short.
 */
function reasonOf({ message, at = [], isUnknownKey }: InputProblem, { after }: ScenarioChange): string {
  return isUnknownKey && Object.keys(after).length > 0 ? `nothing reads ${at.at(-1)}` : message;
}
