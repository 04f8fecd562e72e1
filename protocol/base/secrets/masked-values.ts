/**
 * Finds the secret values of a script by the names of their keys. Masks them in displayed settings, and collects them.
 */
import { basicToken, decodePercent } from '../../wire/basic-auth.ts';
import type { SecretValues } from './known-secrets.ts';
import { hasSecretChildren, isSecretName, maskText, SECRET_MASK } from './secret-text.ts';

/** How a value is displayed. `content` is data that users send or compare; only its shape is displayed. */
type Treatment = 'shown' | 'secret' | 'content';

interface Place {
  key: string;
  /** Key of the object or list that contains the value. */
  parent: string;
  treatment: Treatment;
  /** Whether the value is in a flow. Steps can have any keys, so only the strings of known keys are displayed there. */
  inFlow: boolean;
}

const CONTENT = new Set([
  ...['args', 'body', 'data', 'form', 'formdata', 'iftrue', 'json', 'log', 'over', 'regexp', 'value', 'variables'],
]);
/** Keys of scenarios and steps whose values are displayed. The values are names, paths or numbers. */
const SHOWN_IN_FLOW = new Set([
  ...['name', 'engine', 'weight', 'event', 'on', 'channel', 'namespace', 'connect', 'waitFor', 'path', 'url', 'uri'],
  ...['function', 'whileTrue', 'beforeScenario', 'afterScenario', 'beforeRequest', 'afterResponse', 'onError'],
  ...['as', 'group', 'flags', 'count', 'loopValue', 'loopElement', 'over', 'think', 'timeout', 'transports', 'expect'],
]);
const WHOLE_TEMPLATE = /^\s*\{\{\s*[$\w.[\]]+\s*\}\}\s*$/;
const VARIABLE = /^[\w$.-]+$/;
const MAX_ITEMS = 20;

/**
 * Returns the settings with masked secrets. Message contents are replaced by their types and sizes. Masking twice
 * changes nothing.
 */
export function maskedSettings(settings: Record<string, unknown>): Record<string, unknown> {
  return masked(settings, { key: '', parent: '', treatment: 'shown', inFlow: false }) as Record<string, unknown>;
}

function masked(value: unknown, place: Place): unknown {
  if (Array.isArray(value)) {
    if (place.treatment === 'content' && value.length > MAX_ITEMS) return `${SECRET_MASK} list of ${value.length}`;
    return value.map((item, index) => masked(item, itemOf(place, index, item)));
  }
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value);
    if (place.treatment === 'content' && entries.length > MAX_ITEMS)
      return `${SECRET_MASK} object of ${entries.length}`;
    return Object.fromEntries(entries.map(([key, inside]) => [key, masked(inside, memberOf(place, key, inside))]));
  }
  if (value === null || value === undefined) return value;
  if (place.treatment === 'shown') return typeof value === 'string' ? maskText(value) : value;
  if (typeof value === 'string' && (WHOLE_TEMPLATE.test(value) || value.startsWith(SECRET_MASK))) return value;
  if (place.treatment === 'secret') return typeof value === 'boolean' ? value : SECRET_MASK;
  return typeof value === 'string' ? `${SECRET_MASK} text of ${value.length}` : `${SECRET_MASK} ${typeof value}`;
}

function memberOf(place: Place, key: string, value: unknown): Place {
  const inside = { key, parent: place.key, inFlow: place.inFlow || key === 'flow' };
  return { ...inside, treatment: treatmentOf(place, key, value, inside.inFlow) };
}

function treatmentOf({ key: parent, treatment }: Place, key: string, value: unknown, inFlow: boolean): Treatment {
  if (treatment === 'secret' || hasSecretChildren(key)) return 'secret';
  if (treatment === 'content') return 'content';
  // The key `json` contains data only in a request. In other places, its value is a path or an option.
  const isOption = !inFlow && parent !== '';
  if (key === 'json' && (isOption || ['capture', 'match'].includes(parent))) return 'shown';
  if (key === 'over' && typeof value === 'string' && VARIABLE.test(value)) return 'shown';
  if (key === 'acknowledge' && Array.isArray(value)) return 'content';
  if (CONTENT.has(key.toLowerCase())) return 'content';
  return inFlow && typeof value === 'string' && !SHOWN_IN_FLOW.has(key) ? 'content' : 'shown';
}

/**
 * Returns whether an item of a list is shown or masked as content. In `emit: [event, argument, …]`, only the arguments
 * are masked.
 */
function itemOf(place: Place, index: number, value: unknown): Place {
  const { key, treatment, inFlow } = place;
  const isUnknown = inFlow && typeof value === 'string' && !SHOWN_IN_FLOW.has(key);
  const isContent = key === 'emit' ? index > 0 : isUnknown;
  return isContent && treatment === 'shown' ? { ...place, treatment: 'content' } : place;
}

/**
 * Collects the secrets of a script.
 * @param script `config` and `scenarios`, or a part of them
 * @param env environment variables for the templates
 */
export function collectScriptSecrets(
  script: object,
  env: NodeJS.ProcessEnv = {},
): { credentials: Set<string>; values: Set<string> } {
  const found = { credentials: new Set<string>(), values: new Set<string>() };
  collect(script, { key: '', parent: '', treatment: 'shown', inFlow: false }, env, found);
  return found;
}

/** Returns all secrets in the settings of a connection or virtual user. */
export function collectConnectionSecrets(value: object): string[] {
  const { credentials, values } = collectScriptSecrets(value);
  return [...credentials, ...values];
}

type Found = { credentials: Set<string>; values: Set<string> };

function collect(value: unknown, place: Place, env: NodeJS.ProcessEnv, found: Found): void {
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) collect(item, itemOf(place, index, item), env, found);
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, inside] of Object.entries(value)) collect(inside, memberOf(place, key, inside), env, found);
  } else if (typeof value === 'string' || typeof value === 'number') collectLeaf(String(value), place, env, found);
}

const ENVIRONMENT = /\$(?:env|processEnvironment)\.(\w+)/g;

function collectLeaf(text: string, { key, treatment }: Place, env: NodeJS.ProcessEnv, found: Found): void {
  add(found, urlSecrets(text));
  for (const [, name = ''] of text.matchAll(ENVIRONMENT)) {
    const value = env[name];
    if (!value) continue;
    add(found, urlSecrets(value));
    if (isSecretName(name) || (treatment === 'secret' && isSecretName(key))) found.credentials.add(value);
    else if (treatment !== 'shown') found.values.add(value);
  }
  if (treatment === 'shown' || WHOLE_TEMPLATE.test(text)) return;
  const into = isSecretName(key) ? found.credentials : found.values;
  into.add(text);
  for (const part of treatment === 'secret' ? partsOf(text, key) : []) into.add(part);
}

function add(found: Found, { credentials, values }: SecretValues): void {
  for (const value of credentials) found.credentials.add(value);
  for (const value of values) found.values.add(value);
}

/** Returns the secret parts of a header, a cookie, a query or another text. */
function partsOf(text: string, key: string): string[] {
  const [, scheme = '', token = ''] = /^(\w+) +(\S+)$/.exec(text) ?? [];
  const credentials = /^basic$/i.test(scheme) ? Buffer.from(token, 'base64').toString().split(':').slice(-1) : [];
  const pairs = /cookie|query|qs/i.test(key) ? [...text.matchAll(/=([^;&]+)/g)].map(([, value = '']) => value) : [];
  const lines = text.includes('\n')
    ? text.split('\n').filter((line) => line.length > 20 && !line.startsWith('-----'))
    : [];
  return [token, ...credentials, ...pairs, ...pairs.map(decodePercent), ...lines].filter((part) => part !== '');
}

/** Returns user info and query values of all URLs in a text. */
function urlSecrets(text: string): { credentials: string[]; values: string[] } {
  const found = { credentials: [] as string[], values: [] as string[] };
  for (const [, user = '', password = ''] of text.matchAll(
    /\b[a-z][a-z\d+.-]{0,30}:\/\/([^\s/:@"']*):?([^\s/"']*)@/gi,
  )) {
    found.credentials.push(...[password || user].flatMap((secret) => [secret, decodePercent(secret)]));
    found.credentials.push(basicToken(user, password));
    if (password !== '') found.values.push(user);
  }
  for (const [, name = '', value = ''] of text.matchAll(/[?&#]([\w.~%[\]-]+)=([^&\s"'<>#{]+)/g)) {
    (isSecretName(name) ? found.credentials : found.values).push(value, decodePercent(value));
  }
  return found;
}
