/** Text in which others have a say, such as a server, a host, or a scenario, for terminals and reports; without secrets. */
import { maskCommandLine } from './secrets/command-line.ts';
import { withoutCredentials, withoutSecrets } from './secrets/known-secrets.ts';

/** Control characters, invisible and reordering ones, line breaks, halves of a surrogate pair. */
const HARMFUL = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;
/** What a CI system obeys, some of them wherever it stands in a line: `::error::x`, `##[error]x`, `##vso[…]`, `##teamcity[…]`. */
const COMMANDS = /:(?=:[A-Za-z][\w-]*( .*?)?::)|#(?=#\w*\[)/g;

/** A secret that is longer does not end before the text is cut. */
const MAX_SECRET_LENGTH = 10_000;

/**
 * @param text that a server or another program wrote
 * @param secrets of the virtual user that it concerns
 * @returns at most `maxLength` characters on one line, in which a harmful one shows as its escape sequence
 */
export function printable(text: string, maxLength: number, secrets?: Iterable<string>): string {
  return shortLine(withoutSecrets(text.slice(0, maxLength * 2 + MAX_SECRET_LENGTH), secrets), maxLength);
}

/**
 * Keeps values that the script sends, unlike `printable`: a command line does not come from the measured server, and the word
 * `server` of an emitted message would also disappear from `node server.js`.
 * @param args with the program first
 * @returns the command on one line of at most `maxLength` characters, without credentials
 */
export function printableCommand(args: readonly string[], maxLength: number): string {
  const line = maskCommandLine(args).slice(0, maxLength * 2 + MAX_SECRET_LENGTH);
  return shortLine(withoutCredentials(line), maxLength);
}

function shortLine(text: string, maxLength: number): string {
  const shown = escapedLine(text.slice(0, maxLength * 2).trim()).replace(/ +/g, ' ');
  return shown.length <= maxLength ? shown : `${shown.slice(0, maxLength - 1)}…`;
}

/** @returns the text on one line that commands neither a terminal nor a CI system; spaces stay as they are */
export function oneLine(text: string): string {
  return escapedLine(withoutCredentials(text));
}

function escapedLine(text: string): string {
  return text
    .replace(/[\r\n\t]+/g, ' ')
    .replace(HARMFUL, escaped)
    .replace(COMMANDS, escaped);
}

/** @returns as `oneLine`, each of its lines */
export function harmless(text: string): string {
  return withoutCredentials(text).split('\n').map(escapedLine).join('\n');
}

function escaped(character: string): string {
  return `\\u{${(character.codePointAt(0) as number).toString(16)}}`;
}
