/** HTML that is written on the server. */

/** Text in which everything is escaped that came from elsewhere. */
export interface Html {
  readonly html: string;
}

type Value = string | number | Html | readonly Html[] | undefined;

/** A template whose values are escaped, unless they are HTML themselves; an absent one leaves nothing. */
export function html(strings: TemplateStringsArray, ...values: readonly Value[]): Html {
  let text = strings[0] ?? '';
  values.forEach((value, index) => {
    text += toText(value) + (strings[index + 1] ?? '');
  });
  return { html: text };
}

/** Fit for the content of an element and for an attribute in quotes. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Paragraphs, and code in backquotes: no more of Markdown is in the descriptions. */
export function prose(text: string): Html {
  return html`${text.split('\n\n').map((paragraph) => html`<p>${paragraph.split('`').map(withCode)}</p>`)}`;
}

function withCode(text: string, index: number): Html {
  return index % 2 === 1 ? html`<code>${text}</code>` : html`${text}`;
}

function toText(value: Value): string {
  if (value === undefined) return '';
  if (typeof value === 'string' || typeof value === 'number') return escapeHtml(String(value));
  return 'html' in value ? value.html : value.map((part) => part.html).join('');
}
