/**
 * The secret values that this thread knows, removed from whatever it writes or shows. Values lose any mark when they cross
 * to another thread or process, so each side reads them again from the script that it gets.
 */
import { MASK, maskText, maskUrls } from './secret-text.ts';

export interface SecretValues {
  /** Passwords, tokens and keys: removed from any text. */
  credentials: Iterable<string>;
  /** Other values that are sent to servers: removed from text that a server wrote. */
  values: Iterable<string>;
}

/** More would make each text slow: values of single virtual users are removed where their text is kept. */
const MAX_KNOWN = 2000;
const MIN_LENGTH = 3;
/** A shorter value can be a part of another word. */
const WORD_LENGTH = 8;
/** A longer value is found by its beginning, and removed with all that follows: a pattern has a largest size. */
const LONGEST_FORM = 1000;
const BEGINNING_LENGTH = 200;
const NO_SECRET = /^(\d{1,3}|true|false|null|undefined|none|\*+.*)$/i;

let told: SecretValues = { credentials: [], values: [] };
let known = patternsOf(told);

/** Replaces what was known by the secrets of another script. */
export function knowSecrets(secrets: SecretValues): void {
  told = secrets;
  known = patternsOf(secrets);
}

/** Returns what this thread knows, for a process of its own that shortens texts before they come here. */
export function knownSecrets() {
  return { credentials: [...told.credentials], values: [...told.values] };
}

/** @returns any text without known credentials, those of URLs, and private keys */
export function withoutCredentials(text: string): string {
  return maskUrls(replaced(text, known.credentials));
}

/**
 * @param text that a server or another program wrote
 * @param own values of the virtual user that it concerns
 * @returns the text without any known secret
 */
export function withoutSecrets(text: string, own: Iterable<string> = []): string {
  return maskText(replaced(replaced(withoutValues(text, own), known.credentials), known.values));
}

/** @returns the text without these values; quick where it has none of them */
export function withoutValues(text: string, values: Iterable<string>): string {
  const present = [...values].filter((value) => formsOf(value).some((form) => text.includes(form)));
  return present.length === 0 ? text : replaced(text, patternOf(present));
}

/** @returns the value with every text in it changed, such as by `withoutCredentials` */
export function mapTexts<T>(value: T, change: (text: string) => string): T {
  if (typeof value === 'string') return change(value) as T;
  if (Array.isArray(value)) return value.map((one) => mapTexts(one, change)) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inside]) => [key, mapTexts(inside, change)])) as T;
}

function patternsOf({ credentials, values }: SecretValues) {
  const all = [...credentials];
  // A password that is a common word is removed only where a server wrote it: it can be a word of any report.
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

/** As it stands in text, in a URL and in JSON. */
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
  return pattern ? text.replace(pattern, MASK) : text;
}
