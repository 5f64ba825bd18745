export interface Html {
  readonly html: string;
}

type Value = string | number | Html | readonly Html[] | undefined;

/** A template that escapes its values, unless they are HTML. Undefined becomes empty. */
export function html(strings: TemplateStringsArray, ...values: readonly Value[]): Html {
  let text = strings[0] ?? '';
  values.forEach((value, index) => {
    text += toText(value) + (strings[index + 1] ?? '');
  });
  return { html: text };
}

/** Escapes a text for the content of an element and for a quoted attribute. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Renders paragraphs and code in backquotes, the only Markdown in the descriptions. */
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
