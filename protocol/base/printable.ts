/** Makes text from servers, hosts and scenarios safe for terminals and reports, and removes secrets. */
import { maskCommandLine } from './secrets/command-line.ts';
import { withoutCredentials, withoutSecrets } from './secrets/known-secrets.ts';

/**
 * Characters that are escaped: control characters, invisible characters, characters that change the text direction,
 * line breaks, unpaired surrogates.
 */
const HARMFUL = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;
/**
 * Pattern of commands that CI systems execute if they appear in the output, some of them anywhere in a line:
 * `::error::x`, `##[error]x`, `##vso[…]`, `##teamcity[…]`.
 */
const COMMANDS = /:(?=:[A-Za-z][\w-]*( .*?)?::)|#(?=#\w*\[)/g;

/**
 * Number of characters behind the shown part of a text that are also searched for secrets. Otherwise, a secret that is
 * cut off at the end of the shown part would be missed.
 */
const SECRET_MARGIN = 10_000;

/**
 * Returns one line of at most `maxLength` characters. Harmful characters are escaped and secrets removed.
 * @param text text from a server or another program
 * @param secrets secrets of the virtual user that the text is about
 */
export function printableLine(text: string, maxLength: number, secrets?: Iterable<string>): string {
  return shortLine(withoutSecrets(text.slice(0, maxLength * 2 + SECRET_MARGIN), secrets), maxLength);
}

/**
 * Returns a command as one printable line of at most `maxLength` characters, without credentials. Values that the
 * script sends are not removed, because a command line does not come from the measured server. Otherwise, a script that
 * emits `server` would remove that word from `node server.js`.
 * @param args program and arguments
 */
export function printableCommand(args: readonly string[], maxLength: number): string {
  const line = maskCommandLine(args).slice(0, maxLength * 2 + SECRET_MARGIN);
  return shortLine(withoutCredentials(line), maxLength);
}

function shortLine(text: string, maxLength: number): string {
  const shown = escapedLine(text.slice(0, maxLength * 2).trim()).replace(/ +/g, ' ');
  return shown.length <= maxLength ? shown : `${shown.slice(0, maxLength - 1)}…`;
}

/** Returns the text as one line. Harmful characters and CI commands are escaped; spaces are kept. */
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
export function escapeEachLine(text: string): string {
  return withoutCredentials(text).split('\n').map(escapedLine).join('\n');
}

function escaped(character: string): string {
  return `\\u{${(character.codePointAt(0) as number).toString(16)}}`;
}
