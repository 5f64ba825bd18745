/** The message is one sentence for the person who asked. */
export class DoctorError extends Error {
  override readonly name = 'DoctorError';
}
