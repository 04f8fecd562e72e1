/** Makes text from servers, hosts and scenarios safe for terminals and reports, and removes secrets. */
import { maskCommandLine } from './secrets/command-line.ts';
import { withoutCredentials, withoutSecrets } from './secrets/known-secrets.ts';

/** Control, invisible and text-direction characters, line breaks, unpaired surrogates. */
const HARMFUL = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;
/**
 * Commands that CI systems execute when printed, some of them anywhere in a line: `::error::x`, `##[error]x`, `##vso[…]`, `##teamcity[…]`.
 */
const COMMANDS = /:(?=:[A-Za-z][\w-]*( .*?)?::)|#(?=#\w*\[)/g;

/** Text beyond the shown length that is searched for secrets, so that a secret across the cut is removed. */
const SECRET_MARGIN = 10_000;

/**
 * Returns at most `maxLength` characters on one line, with harmful ones escaped.
 * @param text text of a server or another program @param secrets secrets of the virtual user concerned
 */
export function printable(text: string, maxLength: number, secrets?: Iterable<string>): string {
  return shortLine(withoutSecrets(text.slice(0, maxLength * 2 + SECRET_MARGIN), secrets), maxLength);
}

/**
 * `printable` for a command line. Keeps values that the script sends, because command lines do not come from the measured server, and an
 * emitted `server` would otherwise disappear from `node server.js`.
 * @param args arguments, beginning with the program
 * @returns the command on one line of at most `maxLength` characters, without credentials
 */
export function printableCommand(args: readonly string[], maxLength: number): string {
  const line = maskCommandLine(args).slice(0, maxLength * 2 + SECRET_MARGIN);
  return shortLine(withoutCredentials(line), maxLength);
}

function shortLine(text: string, maxLength: number): string {
  const shown = escapedLine(text.slice(0, maxLength * 2).trim()).replace(/ +/g, ' ');
  return shown.length <= maxLength ? shown : `${shown.slice(0, maxLength - 1)}…`;
}

/** Returns the text on one line, with harmful characters and CI commands escaped; keeps spaces. */
export function oneLine(text: string): string {
  return escapedLine(withoutCredentials(text));
}

function escapedLine(text: string): string {
  return text
    .replace(/[\r\n\t]+/g, ' ')
    .replace(HARMFUL, escaped)
    .replace(COMMANDS, escaped);
}

/** Applies `oneLine` to every line. */
export function harmless(text: string): string {
  return withoutCredentials(text).split('\n').map(escapedLine).join('\n');
}

function escaped(character: string): string {
  return `\\u{${(character.codePointAt(0) as number).toString(16)}}`;
}
