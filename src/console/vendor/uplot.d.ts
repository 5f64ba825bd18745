/** The types of `vendor/uplot.js`, which `http/console.ts` serves out of the package. */
export { default } from 'uplot';
