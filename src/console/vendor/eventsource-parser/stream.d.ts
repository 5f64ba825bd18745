/** The types of `vendor/eventsource-parser/stream.js`, which `http/console.ts` serves out of the package. */
export * from 'eventsource-parser/stream';
