/** A scenario during its conversion: the document, the changes so far, and the decisions left to the user. */
import type { ProblemPath } from '../../../protocol/base/problems.ts';
import type { Scenario, Script } from '../../script/script.ts';
import { parseScenario } from '../scenario-argument.ts';
import { type ScenarioChange, ScenarioDocument } from './scenario-document.ts';

export class AdoptionDraft {
  readonly document: ScenarioDocument;
  /** Path of the new file, to which paths in the scenario are relative. */
  readonly path: string;
  readonly changes: (ScenarioChange & { why: string })[] = [];
  /** Removed parts of the scenario, and decisions that are left to the user. */
  readonly undecided: { line: number | undefined; why: string }[] = [];

  /**
   * Parses a scenario as YAML.
   * @throws Error if the text is not YAML
   */
  constructor(text: string, path: string) {
    this.document = new ScenarioDocument(text);
    this.path = path;
  }

  /** Names of the environment variables that the scenario reads. */
  get variables(): string[] {
    const names = this.document.toString().matchAll(/\$(?:env|processEnvironment)\.(\w+)/g);
    return [...new Set([...names].map(([, name = '']) => name))];
  }

  /**
   * Parses the scenario's current text in the same way as Artillery.
   * @throws errors of `parseScenario`
   */
  read(): Promise<Script> {
    return parseScenario(this.document.toString(), this.path);
  }

  set(path: ProblemPath, value: unknown, why: string): void {
    const name = String(path.at(-1));
    const before = this.document.valueAt(path);
    const at = path.slice(0, before === undefined ? -1 : undefined);
    this.note(at, before === undefined ? {} : { [name]: before }, { [name]: value }, why);
    this.document.set(path, value);
  }

  remove(path: ProblemPath, why: string): void {
    this.note(path, this.document.valueAt(path) as ScenarioChange['before'], {}, why);
    this.document.remove(path);
  }

  /**
   * Records a change of the scenario.
   * @param at path of the change; undefined for an addition
   */
  note(
    at: ProblemPath | undefined,
    before: ScenarioChange['before'],
    after: ScenarioChange['after'],
    why: string,
  ): void {
    this.changes.push({ line: at && this.document.lineOf(at), before, after, why });
  }

  scenario(): { config: Record<string, unknown>; scenarios: Scenario[] } {
    const [config, scenarios] = [['config'], ['scenarios']].map((path) => this.document.valueAt(path));
    const list = Array.isArray(scenarios) ? scenarios : [];
    return { config: Object(config), scenarios: list.map((one) => Object(one) as Scenario) };
  }
}
