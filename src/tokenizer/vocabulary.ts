export type Vocabulary = 'o200k_base' | 'cl100k_base';

/** Matches GPT-4 before 4o, GPT-3.5 and their embeddings, also after a provider's prefix. */
const CL100K = /^(?:.*\/)?(?:gpt-4(?:-(?!o)|$)|gpt-3\.?5|text-embedding-)/;

/** Returns the vocabulary for a model. Those of other makers than OpenAI are about as large. */
export function vocabularyOf(model: string): Vocabulary {
  return CL100K.test(model.toLowerCase()) ? 'cl100k_base' : 'o200k_base';
}
