/** Suggestions in hints: as text for an error message, and as a change of the script for `adopt`. */
import type { ProblemPath, ScriptRewrite } from '../../../protocol/base/problems.ts';
import { ENGINE_NAME } from '../script.ts';
import { connectionShape } from './connect-options.ts';

export interface OptionHint {
  /** Text of the suggestion. `<event>`, `<seconds>`, … are replaced by values of the user's step. */
  text: string;
  rewrite?: ScriptRewrite;
}

type Owner = Record<string, unknown>;
type Change = (value: unknown) => unknown;

export const ENGINE_SETTINGS_PATH = ['config', 'engines', ENGINE_NAME];
/** Largest length of a value from the user's script that a suggestion quotes. */
const MAX_VALUE_LENGTH = 60;
/** Smallest time that is read as milliseconds in a rewritten step. */
const MILLISECONDS_FROM = 1000;
const PLACEHOLDER = /<(\w+)>/g;
const same: Change = (value) => value;

export const toMillisecondsText: Change = (value) => (typeof value === 'number' ? `${value}ms` : value);

export const textHint = (hint: string): OptionHint => ({ text: hint });

export function removeKeyHint(hint: string): OptionHint {
  return { text: hint, rewrite: (owner, key) => ({ owner: without(owner, key) }) };
}

export function renameKeyHint(to: string, hint: string, change = same): OptionHint {
  return {
    text: hint,
    rewrite: (owner, key) =>
      to in owner ? undefined : { owner: replacedKey(owner, key, { [to]: change(owner[key]) }) },
  };
}

/**
 * Moves a key to another path of the script.
 * @param to returns the new path, from the path of the map that contains the key
 */
export function moveKey(to: (owner: ProblemPath, key: string) => ProblemPath, change = same): ScriptRewrite {
  return (owner, key) => ({ moveTo: (at) => to(at, key), value: change(owner[key]) });
}

export function moveToEngineHint(hint: string): OptionHint {
  return { text: hint, rewrite: moveKey((_, key) => [...ENGINE_SETTINGS_PATH, key]) };
}

/** Moves a key into the map that is the value of another key of the same map. */
export function moveIntoKey(map: string, name?: string, change = same): ScriptRewrite {
  return (owner, key) => {
    const { [map]: before, ...others } = without(owner, key);
    if (before === false) return { owner: { ...others, [map]: before } };
    const added = { [name ?? key]: change(owner[key]) };
    return { owner: { ...others, [map]: { ...(typeof before === 'object' ? before : {}), ...added } } };
  };
}

/** Moves a key out of its map into the map that contains it, and renames the key. */
export function moveOutOfMap(name: string): ScriptRewrite {
  return moveKey((at) => [...at.slice(0, -1), name]);
}

/** Moves a check into the `acknowledge`, `response` or `waitFor` of the same step. */
export function moveIntoAnswerCheck(name: string): ScriptRewrite {
  return (owner, key) => {
    const answer = ['acknowledge', 'response', 'waitFor'].find((one) => owner[one] !== undefined);
    if (!answer) return undefined;
    const checks = { ...(Object(owner[answer]) as Owner), [name]: owner[key] };
    return { owner: { ...without(owner, key), [answer]: checks } };
  };
}

/** Moves a key of an `emit` step into the list of the event's arguments. */
export const moveIntoArguments: ScriptRewrite = (owner, key) => {
  const { emit } = owner;
  if (key === 'channel' || (typeof emit !== 'string' && !Array.isArray(emit))) return undefined;
  const args = key === 'args' && Array.isArray(owner[key]) ? owner[key] : [owner[key]];
  return { owner: { ...without(owner, key), emit: [...[emit].flat(), ...args] } };
};

/** Rewrites `emit: hello` to a list. */
export const rewriteToList: ScriptRewrite = (owner, key) =>
  typeof owner[key] === 'string' ? { owner: { ...owner, [key]: [owner[key]] } } : undefined;

/**
 * Rewrites `socketio: {connect: …}`, `socket: true` or `namespace: /chat` to a `connect` step, and `socketio: {emit:
 * …}` to an `emit` step.
 */
export const rewriteToConnectStep: ScriptRewrite = (owner, key) => {
  const value = owner[key];
  if (isOptions(value) && 'emit' in Object(value)) return { owner: replacedKey(owner, key, Object(value)) };
  if ('connect' in owner) {
    const isOption = key in connectionShape && typeof owner.connect !== 'string';
    return isOption
      ? { owner: { ...without(owner, key), connect: { ...Object(owner.connect), [key]: value } } }
      : undefined;
  }
  const inner = typeof value === 'object' && value !== null && 'connect' in value ? value.connect : value;
  const isOpen = ['socketio', 'socket', 'open'].includes(key) && (inner === true || inner === null || isOptions(inner));
  const isNamespace = key === 'namespace' && typeof value === 'string';
  if (!isOpen && !isNamespace) return undefined;
  return { owner: replacedKey(owner, key, { connect: inner ?? true }) };
};

/** Rewrites `repeat: {count: 3, steps: […]}`, or a `loop` of the same form, to a `loop` step. */
export const rewriteToLoopStep: ScriptRewrite = (owner, key) => {
  const { count = owner.count, times = count, flow, loop = flow, steps = loop } = Object(owner[key]) as Owner;
  if (!Array.isArray(steps) || times === undefined) return undefined;
  return { owner: replacedKey(owner, key, { loop: steps, count: times }) };
};

/** Rewrites `think: {min: 1, max: 3}` to a time with jitter, and `think: {seconds: 2}` to a time. */
export const rewriteToJitter: ScriptRewrite = (owner, key) => {
  const { min, max, seconds, duration = seconds } = Object(owner[key]) as Owner;
  if (typeof min === 'number' && typeof max === 'number')
    return { owner: { ...owner, [key]: (min + max) / 2, jitter: `${(max - min) / 2}s` } };
  return duration === undefined ? undefined : { owner: { ...owner, [key]: duration } };
};

/** Returns a hint that replaces a template without a value by the given template. */
export function fillTemplateHint(template: string): OptionHint {
  return { text: `write ${template}`, rewrite: (owner, key) => withTemplate(owner, key, template) };
}

/** Applies the rewrite of an unknown variable or function to all its templates in a text. */
export function rewriteTemplates(rewrite: ScriptRewrite | undefined, inner: string): ScriptRewrite | undefined {
  return (
    rewrite &&
    ((owner, key) => {
      const found = rewrite({ template: inner }, 'template') as { owner: Owner } | undefined;
      const value = owner[key];
      if (typeof value !== 'string' || !found) return undefined;
      const pattern = new RegExp(`\\{\\{\\{?\\s*${inner.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')}\\s*\\}\\}\\}?`, 'g');
      // The arguments of the function are kept, such as in `$randomInt(1, 6)`.
      const [args] = /\(.+\)/.exec(inner) ?? [];
      const template = String(found.owner.template);
      const text = value.replace(pattern, () => (args ? template.replace(/\(.+\)/, () => args) : template));
      return { owner: Array.isArray(owner) ? owner.with(Number(key), text) : { ...owner, [key]: text } };
    })
  );
}

function withTemplate(owner: Owner, key: string, template: string): { owner: Owner } {
  return { owner: { ...owner, [key]: template } };
}

/**
 * Returns a hint that replaces a step by another complete step.
 * @param more text to append to the hint
 */
export function replaceStepHint(line: Owner, more = ''): OptionHint {
  const rewrite: ScriptRewrite = (owner, key) => {
    const value = owner[key];
    const isSure = !('emit' in line) || typeof value === 'object';
    const entries = Object.entries(line).map(([verb, spec]) => [verb, filledIn(spec, value)]);
    const isFilled = isSure && entries.every(([, spec]) => spec !== undefined);
    return isFilled ? { owner: replacedKey(owner, key, Object.fromEntries(entries)) } : undefined;
  };
  return { text: `write ${Object.entries(line).map(written).join(', ')}${more}`, rewrite };
}

function written([verb, spec]: [string, unknown]): string {
  const inYaml = JSON.stringify(spec).replaceAll('"', '').replaceAll(':', ': ').replaceAll(',', ', ');
  return `${verb}: ${inYaml}`;
}

/**
 * Fills the placeholders of a step with the user's values. Returns undefined if a value is missing. Optional arguments
 * at the end of a list are left out.
 */
function filledIn(spec: unknown, value: unknown): unknown {
  if (Array.isArray(spec)) {
    const [first, ...others] = spec.map((one) => filledIn(one, value));
    const given = Array.isArray(value) ? value.slice(1) : others.filter((one) => one !== undefined);
    return first === undefined ? undefined : [first, ...given];
  }
  if (typeof spec === 'object' && spec !== null) {
    // A step that waits for several events is not rewritten: they may arrive in any order.
    if (Array.isArray(value) && value.length > 1) return undefined;
    const entries = Object.entries(spec).map(([key, one]) => [key, filledIn(one, value)]);
    if (entries.some(([, one]) => one === undefined)) return undefined;
    const more = typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
    const names = ['event', 'channel', 'name'];
    return {
      ...Object.fromEntries(entries),
      ...Object.fromEntries(Object.entries(more).filter(([key]) => !names.includes(key))),
    };
  }
  if (typeof spec === 'string') return valuesIn(value)[/^<(\w+)>$/.exec(spec)?.[1] ?? ''];
  // A step with options, such as `logout: {user: ann}`, is not rewritten: its options would be lost.
  return value === false || isOptions(value) ? undefined : spec;
}

function valuesIn(value: unknown): Record<string, unknown> {
  const fields = Object(value) as Owner;
  const [first, ...others] = Array.isArray(value) ? value : [];
  const scalar = typeof value === 'object' ? first : value;
  const seconds = fields.seconds ?? fields.duration ?? scalar;
  return {
    event: fields.event ?? fields.channel ?? fields.name ?? scalar,
    seconds: typeof seconds === 'number' && seconds >= MILLISECONDS_FROM ? toMillisecondsText(seconds) : seconds,
    data: fields.data ?? fields.args ?? fields.payload ?? others[0],
    name: fields.function ?? scalar,
    text: scalar,
    namespace: fields.namespace,
  };
}

/** Returns the hint's text with the event, time, data or name of the user's step in place of placeholders. */
export function fillHintText({ text: hint }: OptionHint, value: unknown): string {
  const values = valuesIn(value);
  return hint.replace(PLACEHOLDER, (placeholder, key: string) => {
    const given = JSON.stringify(values[key]);
    return given === undefined || given.length > MAX_VALUE_LENGTH ? placeholder : given;
  });
}

function without(owner: Owner, key: string): Owner {
  const { [key]: _, ...others } = owner;
  return others;
}

/** Replaces a key by other keys. The order of the keys is kept. */
function replacedKey(owner: Owner, key: string, by: Owner): Owner {
  return Object.fromEntries(
    Object.entries(owner).flatMap(([name, value]) => (name === key ? Object.entries(by) : [[name, value]])),
  );
}

function isOptions(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
