/** Builds HTML from templates that escape every value except `Html`, so outside text cannot become an element. */

export class Html {
  readonly markup: string;

  constructor(markup: string) {
    this.markup = markup;
  }
}

/** Values of a template. Null, undefined and false render as nothing, so a part can be omitted with `&&`. */
export type HtmlValue = Html | string | number | null | undefined | false | readonly HtmlValue[];

/** Invisible characters, and characters that change the text direction. They are replaced in untrusted text. */
const HARMFUL = /[\p{Cf}\p{Zl}\p{Zp}\p{Cs}]|(?![\n\t])\p{Cc}/gu;
const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** Escapes text for HTML elements and quoted attributes. */
export function html(strings: TemplateStringsArray, ...values: HtmlValue[]): Html {
  return new Html(strings.reduce((markup, string, index) => markup + textOf(values[index - 1]) + string));
}

/** @param markup trusted markup without escaping: SVG by ECharts, the page's own style and script */
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
