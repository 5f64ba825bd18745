/** The types of `vendor/purify.js`, which `http/console.ts` serves out of the package. */
export { default } from 'dompurify';
