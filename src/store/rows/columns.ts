/** Returns the column in which a field is kept: `heldMicro` is `held_micro`. */
export function columnOf(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Returns the columns of these fields, each under the name of its field. */
export function selected(fields: readonly string[]): string {
  return fields
    .map((field) => [field, columnOf(field)] as const)
    .map(([field, column]) => (field === column ? column : `${column} AS "${field}"`))
    .join(', ');
}
