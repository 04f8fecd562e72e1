/**
 * Builds HTML from templates. Every value except `Html` is escaped, so that text from outside cannot become an element.
 */

export class Html {
  readonly markup: string;

  constructor(markup: string) {
    this.markup = markup;
  }
}

/** Values that a template accepts. Null, undefined and false render as nothing, so a part can be left out with `&&`. */
export type HtmlValue = Html | string | number | null | undefined | false | readonly HtmlValue[];

/**
 * Pattern of invisible characters, and of characters that change the text direction. They are replaced in untrusted
 * text.
 */
const HARMFUL = /[\p{Cf}\p{Zl}\p{Zp}\p{Cs}]|(?![\n\t])\p{Cc}/gu;
const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** Template tag that escapes values for HTML elements and quoted attributes. */
export function html(strings: TemplateStringsArray, ...values: HtmlValue[]): Html {
  return new Html(strings.reduce((markup, string, index) => markup + textOf(values[index - 1]) + string));
}

/** @param markup trusted markup, which is not escaped: SVG from ECharts, and the style and script of the page */
export function trustedHtml(markup: string): Html {
  return new Html(markup);
}

function textOf(value: HtmlValue): string {
  if (value === null || value === undefined || value === false) return '';
  if (value instanceof Html) return value.markup;
  if (Array.isArray(value)) return value.map(textOf).join('');
  return String(value)
    .replace(HARMFUL, '\ufffd')
    .replace(/[&<>"']/g, (character) => ENTITIES[character] as string);
}
