/** Text that a server sent, for terminals and reports. */

/** Control characters, invisible and reordering ones, line breaks, halves of a surrogate pair. */
const HARMFUL = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** @returns at most `maxLength` characters on one line, in which a harmful one shows as its escape sequence */
export function printable(text: string, maxLength: number): string {
  const shown = text
    .slice(0, maxLength * 2)
    .trim()
    .replace(/[\r\n\t ]+/g, ' ')
    .replace(HARMFUL, escaped);
  return shown.length <= maxLength ? shown : `${shown.slice(0, maxLength - 1)}…`;
}

function escaped(character: string): string {
  return `\\u{${(character.codePointAt(0) as number).toString(16)}}`;
}
