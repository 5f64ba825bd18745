/** What a text is cut into tokens by; named as tiktoken does. */
export type Vocabulary = 'o200k_base' | 'cl100k_base';

/** GPT-4 before 4o, GPT-3.5 and the embeddings of their time, also behind the name of a provider (`openai/gpt-4-turbo`). */
const CL100K = /^(?:.*\/)?(?:gpt-4(?:-(?!o)|$)|gpt-3\.?5|text-embedding-)/;

/**
 * The vocabulary to count for a model of this name. It is the model's own only for OpenAI's (from GPT-4o on, and gpt-oss:
 * o200k_base); the vocabularies of others are as large or smaller, and not to be had without their files.
 */
export function vocabularyOf(model: string): Vocabulary {
  return CL100K.test(model.toLowerCase()) ? 'cl100k_base' : 'o200k_base';
}
