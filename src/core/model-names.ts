/** Backends know one model by several names. */

/** What precedes it names the maker, the host or the folder: `library/llama3`. */
export function lastPartOf(model: string): string {
  return model.slice(model.lastIndexOf('/') + 1);
}

/** Letters, Ollama's tag (`:latest`) and the date of a version (`-2024-08-06`) may differ. */
export function plainNameOf(model: string): string {
  return model
    .toLowerCase()
    .replace(/:.*$/s, '')
    .replace(/[-@](?:\d{4}-\d{2}-\d{2}|\d{8}|\d{6}|\d{4}|\d{3})$/, '');
}
