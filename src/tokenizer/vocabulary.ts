/** Tiktoken's names of the vocabularies. */
export type Vocabulary = 'o200k_base' | 'cl100k_base';

/**
 * Matches GPT-4 before 4o, GPT-3.5 and their embeddings, also after a provider
 * (`openai/gpt-4-turbo`).
 */
const CL100K = /^(?:.*\/)?(?:gpt-4(?:-(?!o)|$)|gpt-3\.?5|text-embedding-)/;

/**
 * Returns the vocabulary to count with for a model of this name. Only OpenAI's models are counted
 * by their own (o200k_base from GPT-4o on, and for gpt-oss). The vocabularies of others have about
 * the same size or are smaller.
 */
export function vocabularyOf(model: string): Vocabulary {
  return CL100K.test(model.toLowerCase()) ? 'cl100k_base' : 'o200k_base';
}
