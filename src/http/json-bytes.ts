/**
 * The index of the quote that closes the JSON string whose content begins at `start`; the length of the bytes when none does.
 * Goes byte by byte, with a search in native code every so often, which jumps over the long strings: images and files.
 */
export function endOfString(bytes: Buffer, start: number): number {
  let at = start;
  while (at < bytes.length) {
    const near = at + 48;
    while (at < near) {
      const byte = bytes[at];
      if (byte === 0x22 || byte === undefined) return at;
      at += byte === 0x5c ? 2 : 1;
    }
    const stop = bytes.indexOf(0x22, at);
    if (stop < 0) return bytes.length;
    if (backslashesBefore(bytes, at, stop) % 2 === 0) return stop;
    at = stop + 1;
  }
  return at;
}

/** An odd number of backslashes makes what follows a character of the string. */
function backslashesBefore(bytes: Buffer, from: number, end: number): number {
  let at = end;
  while (at > from && bytes[at - 1] === 0x5c) at--;
  return end - at;
}
