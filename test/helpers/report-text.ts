/** Texts of a run's report. */
import type { Result } from '../../protocol/result/result.ts';
import { renderRunConsole } from '../../report/render/console.ts';
import { renderHtml } from '../../report/render/html.ts';
import { renderMarkdownSummary } from '../../report/render/markdown.ts';
import { documentOf } from './findings.ts';

/** Returns a result's terminal report with all tables. No line is wrapped. */
export function fullText(result: Result): string {
  return renderRunConsole(documentOf(result), { color: false, width: 1000, verbose: true });
}

/** Returns the text at the end of a run. */
export function endingText(result: Result, width = 1000): string {
  return renderRunConsole(documentOf(result), { color: false, width });
}

export function reportHtml(result: Result): string {
  return renderHtml(documentOf(result));
}

export function reportMarkdown(result: Result): string {
  return renderMarkdownSummary(documentOf(result), ['thresholds']);
}

/** Returns the text of a page, without tags, style, script and drawings. */
export function textOfPage(markup: string): string {
  return markup
    .replace(/<(style|script|svg)\b.*?<\/\1>/gs, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ');
}
