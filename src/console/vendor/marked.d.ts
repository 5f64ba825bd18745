/** The types of `vendor/marked.js`, which `http/console.ts` serves out of the package. */
export * from 'marked';
