/** What a search prints at its end. */
import { join } from 'node:path';
import type { Search } from '../../../protocol/documents/search.ts';
import { type ConsoleOptions, renderConsole } from '../../../report/render/console.ts';
import { searchDocument } from '../../../report/search/document.ts';

/** The answer comes first. */
export function endingOf(search: Search, folder: string, options: ConsoleOptions): string {
  return [
    '',
    renderConsole(searchDocument(search, []), options),
    '',
    `Search: ${join(folder, 'search.json')}, and beside it search.md, search.html, runs/ and the output of each run in logs/`,
  ].join('\n');
}
