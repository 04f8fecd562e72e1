/**
 * Removes known secret values from all text that this thread writes or shows. Each thread and process collects the
 * values from its own copy of the script.
 */
import { maskText, maskUrls, SECRET_MASK } from './secret-text.ts';

export interface SecretValues {
  /** Passwords, tokens and keys. They are removed from every text. */
  credentials: Iterable<string>;
  /** Other values that the script sends. They are removed only from text that a server sent. */
  values: Iterable<string>;
}

/**
 * Maximum number of values in the search pattern, because a larger pattern is slow. Secrets of single virtual users are
 * not in the pattern; they are removed separately from texts about that user.
 */
const MAX_KNOWN = 2000;
const MIN_LENGTH = 3;
/** Length in characters below which a value is removed only where it is a whole word. */
const WORD_LENGTH = 8;
/**
 * Maximum length in characters of a value in the search pattern, because the size of patterns is limited. A longer
 * value is found by its beginning, and the text after it is removed as well.
 */
const LONGEST_FORM = 1000;
const BEGINNING_LENGTH = 200;
const NO_SECRET = /^(\d{1,3}|true|false|null|undefined|none|\*+.*)$/i;

let currentSecrets: SecretValues = { credentials: [], values: [] };
let patterns = patternsOf(currentSecrets);

/** Stores the secrets of a script in place of all earlier ones. */
export function setKnownSecrets(secrets: SecretValues): void {
  currentSecrets = secrets;
  patterns = patternsOf(secrets);
}

/** Returns the known secrets, so that a child process can remove them before it shortens texts. */
export function knownSecrets() {
  return { credentials: [...currentSecrets.credentials], values: [...currentSecrets.values] };
}

/** Removes known credentials, credentials in URLs, and private keys. */
export function withoutCredentials(text: string): string {
  return maskUrls(replaced(text, patterns.credentials));
}

/**
 * Removes all known secrets.
 * @param text text from a server or another program
 * @param own secrets of the virtual user that the text is about
 */
export function withoutSecrets(text: string, own: Iterable<string> = []): string {
  return maskText(replaced(replaced(removeValues(text, own), patterns.credentials), patterns.values));
}

/** Removes these values from the text. Fast if the text contains none of them. */
export function removeValues(text: string, values: Iterable<string>): string {
  const present = [...values].filter((value) => formsOf(value).some((form) => text.includes(form)));
  return present.length === 0 ? text : replaced(text, patternOf(present));
}

/** Returns a copy of the value in which `change` has replaced every string. */
export function mapTexts<T>(value: T, change: (text: string) => string): T {
  if (typeof value === 'string') return change(value) as T;
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change)) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inside]) => [key, mapTexts(inside, change)])) as T;
}

function patternsOf({ credentials, values }: SecretValues) {
  const all = [...credentials];
  // A password that is a common word is removed only from text that a server sent, because the word can occur in any
  // report.
  const distinct = all.filter((value) => value.length >= 16 || (value.length >= 6 && !/^[a-z-]+$/i.test(value)));
  return { credentials: patternOf(distinct), values: patternOf([...all, ...values]) };
}

function patternOf(values: Iterable<string>): RegExp | undefined {
  const forms = new Set<string>();
  for (const value of values) {
    if (value.length < MIN_LENGTH || NO_SECRET.test(value)) continue;
    for (const form of formsOf(value)) forms.add(form);
    if (forms.size > MAX_KNOWN) break;
  }
  if (forms.size === 0) return undefined;
  const longestFirst = [...forms].sort((a, b) => b.length - a.length);
  return new RegExp(longestFirst.map(sourceOf).join('|'), 'g');
}

/** Returns the ways in which a value can be written: plain, in a URL, and in JSON. */
function formsOf(value: string): string[] {
  return [value, encodeURIComponent(value.toWellFormed()), JSON.stringify(value).slice(1, -1)];
}

function sourceOf(form: string): string {
  if (form.length > LONGEST_FORM) return `${literalOf(form.slice(0, BEGINNING_LENGTH))}[^]*`;
  const literal = literalOf(form);
  return form.length < WORD_LENGTH ? `(?<![A-Za-z\\d])${literal}(?![A-Za-z\\d])` : literal;
}

function literalOf(form: string): string {
  return form.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}

function replaced(text: string, pattern: RegExp | undefined): string {
  return pattern ? text.replace(pattern, SECRET_MASK) : text;
}
