/** Reads parts of Markdown pages: sections, first columns of tables, code blocks, links. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '../..');

interface Section {
  /** Heading without number signs. Backticks are kept. */
  heading: string;
  level: number;
  text: string;
}

export function page(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

/** @returns an entry for each heading, with the text up to the next heading of any level */
export function sections(markdown: string): Section[] {
  const parts = withoutCode(markdown).split(/^(#{1,6}) (.*)$/m);
  return Array.from({ length: (parts.length - 1) / 3 }, (_, index) => ({
    level: (parts[index * 3 + 1] as string).length,
    heading: parts[index * 3 + 2] as string,
    text: parts[index * 3 + 3] as string,
  }));
}

/** @throws Error if there is no such section */
export function section(markdown: string, heading: string): string {
  const found = sections(markdown).find((entry) => entry.heading === heading);
  if (!found) throw new Error(`no section "${heading}"`);
  return found.text;
}

/** @returns the cells of all table rows in the text, without head rows */
export function rows(text: string): string[][] {
  const lines = text.split('\n');
  return lines
    .filter((line, index) => line.startsWith('|') && !isRule(line) && !isRule(lines[index + 1]))
    .map((line) => line.split(/(?<!\\)\|/).slice(1, -1))
    .map((cells) => cells.map((cell) => cell.trim()));
}

/** Returns whether the line separates the head of a table from its rows. */
function isRule(line = ''): boolean {
  return /^\|[-:| ]+\|$/.test(line);
}

export function codes(text = ''): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map((code) => code[1] as string);
}

/** @returns all texts in backticks in the first columns of tables */
export function firstColumn(text: string): string[] {
  return rows(text).flatMap(([cell]) => codes(cell));
}

/** @returns the text without Markdown and with a lower-case first letter, for comparisons */
export function plain(text: string): string {
  const shown = text
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/`/g, '')
    .replaceAll('\\|', '|');
  return shown.charAt(0).toLowerCase() + shown.slice(1);
}

export function codeBlocks(markdown: string, language: string): string[] {
  return [...markdown.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)]
    .filter(([, found]) => found === language)
    .map(([, , code]) => code as string);
}

/** @returns the targets of Markdown links within the site */
export function links(markdown: string): string[] {
  return [...withoutCode(markdown).matchAll(/\]\(([^)\s]+)\)/g)]
    .map((match) => match[1] as string)
    .filter((target) => !/^\w+:/.test(target));
}

/** @returns the id that VitePress gives to a heading */
export function anchor(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/`/g, '')
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-+|-+$/g, '');
}

function withoutCode(markdown: string): string {
  return markdown.replace(/^```[\s\S]*?^```$/gm, '');
}
