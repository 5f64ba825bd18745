import { expect } from 'chai';
import { escapeHtml, html, prose } from '../../src/pages/html.ts';

describe('html', () => {
  const hostile = `<script>"'&`;

  it('escapes every value, in a text and in an attribute', () => {
    expect(html`<p title="${hostile}">${hostile}</p>`.html).to.equal(
      `<p title="&#60;script&#62;&#34;&#39;&#38;">&#60;script&#62;&#34;&#39;&#38;</p>`,
    );
  });

  it('takes HTML as it is, in lists as well, and nothing for what is absent', () => {
    expect(html`${html`<b>${'<'}</b>`}${[html`<i></i>`, html`<u></u>`]}${undefined}${7}`.html).to.equal(
      '<b>&#60;</b><i></i><u></u>7',
    );
  });

  it('leaves no character that HTML reads in another way', () => {
    expect(escapeHtml(hostile)).not.to.match(/[<>"']|&(?!#\d+;)/);
  });

  it('makes paragraphs and code of a description, and no other HTML', () => {
    expect(prose('Send `<a>` &\n\nwait.').html).to.equal('<p>Send <code>&#60;a&#62;</code> &#38;</p><p>wait.</p>');
  });
});
