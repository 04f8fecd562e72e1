/**
 * Makes the virtual users of a scenario stay connected, so that a run reads memory while the number of connections is
 * constant.
 */
import type { ProblemPath } from '../../../protocol/base/problems.ts';
import { ENGINE_NAME } from '../../script/script.ts';
import type { Settings } from '../../script/settings.ts';
import type { AdoptionDraft } from './draft.ts';

/**
 * Largest number of virtual users for which all of them stay connected by default. The original scenario may have fewer
 * connections at a time.
 */
const MAX_HELD = 10_000;
const MANY_TIMES = 3;
const PAUSE_SECONDS = 4;
const MAX_PHASES = 10;

/** Returns whether the scenario's load stays similar if all its virtual users stay connected. */
export function canHoldAllUsers({ load: { connections, connectionsAtOnce } }: Settings): boolean {
  return connections <= MAX_HELD || connections <= MANY_TIMES * connectionsAtOnce;
}

/** Ends each flow with the step `hold`, and adds a pause after each phase. */
export function addHoldSteps(draft: AdoptionDraft): void {
  const { config, scenarios } = draft.scenario();
  for (const [index, scenario] of scenarios.entries()) {
    const { flow, engine = config.engine } = scenario;
    const at: ProblemPath = ['scenarios', index, 'flow'];
    if (engine !== ENGINE_NAME || !Array.isArray(flow) || flow.some((step) => 'hold' in Object(step))) continue;
    if (isEndless(flow.at(-1))) {
      const why = 'its last step never ends: write a `count`, or `every` and then hold: true';
      draft.undecided.push({ line: draft.document.lineOf([...at, flow.length - 1]), why });
      continue;
    }
    let length = flow.length;
    // Steps that wait or disconnect at the end of the flow are replaced by `hold`.
    for (; length > 0 && isEnd(flow[length - 1]); length--) draft.remove([...at, length - 1], 'the users stay instead');
    draft.document.append(at, { hold: true });
    draft.note(undefined, {}, { hold: true }, 'stays until all is measured; --leave keeps the users coming and going');
  }
  const phases = [config.phases ?? []].flat();
  if (phases.length > MAX_PHASES || phases.some((phase) => 'pause' in Object(phase))) return;
  for (let index = phases.length; index > 0; index--) {
    draft.document.append(['config', 'phases'], { pause: PAUSE_SECONDS }, index);
  }
  const why = 'after each phase: memory is read while the connections are idle';
  draft.note(['config', 'phases'], {}, { pause: PAUSE_SECONDS }, why);
}

function isEndless(step: unknown): boolean {
  const { loop, count = -1, over, whileTrue } = Object(step);
  return loop !== undefined && Number(count) === -1 && over === undefined && whileTrue === undefined;
}

function isEnd(step: unknown): boolean {
  const { think, disconnect } = Object(step);
  return think !== undefined || disconnect !== undefined;
}
