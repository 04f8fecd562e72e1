/** Writes the page of the documentation that quotes the runs' messages about failures. */
import assert from 'node:assert/strict';
import { wrapText } from '../../../report/text/format.ts';
import type { Failure } from './failure.ts';

const HEAD = `# What it looks like

Find your symptom. Each block is what a run printed first against a server or proxy with that failure.`;
const COLUMNS = 100;
/** Command with paths of the machine. */
const COMMAND = /[^\s(]*\/bin\/node \S*\/([\w-]+\.mjs)[^)]*/g;
/** Quote of a message with its fix. */
const QUOTE = /```text\n([\s\S]*?)\n( {2}fix: [\s\S]*?)\n```/g;

export interface Quote {
  message: string;
  fix: string;
}

/**
 * @param quotes message and fix of each failure's run
 * @returns Markdown
 */
export function failuresPage(sections: Record<string, Failure[]>, quotes: Map<Failure, Quote>): string {
  const parts = Object.entries(sections).flatMap(([title, failures]) => {
    const shown = failures.filter(({ likeAnother }) => !likeAnother);
    return [`## ${title}`, ...shown.map((failure) => failureText(failure, quotes.get(failure)))];
  });
  return `${[HEAD, ...parts].join('\n\n')}\n`;
}

function failureText({ symptom, report }: Failure, { message, fix }: Quote = { message: '', fix: '' }): string {
  const lines = [message.replace(COMMAND, 'node $1'), `  fix: ${fix}`].flatMap((line) =>
    wrapText(line, COLUMNS, '    '),
  );
  return `### ${symptom}\n\n[Reported](https://github.com/${report}):\n\n\`\`\`text\n${lines.join('\n')}\n\`\`\``;
}

/** Asserts that the page has the current messages of the runs. Details of the machine, such as times, may differ. */
export function assertPage(page: string, now: string, failures: Failure[]): void {
  assert.equal(withoutMessages(page), withoutMessages(now));
  const shown = failures.filter(({ likeAnother }) => !likeAnother);
  for (const [index, [, message = '']] of [...page.matchAll(QUOTE)].entries())
    assert.match(oneLine(message).replace(/^[\w ]+[:.] /, ''), shown[index]?.message ?? /^$/);
}

function withoutMessages(page: string): string {
  return oneLine(page.replace(QUOTE, '$2')).replace(/\d[\d,.]*/g, 'N');
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
