import type { EventLog } from './event-log.ts';

/** Tells the client of a compaction. It is there at once and as a whole, so that two events are enough. */
export function writeCompaction(log: EventLog, encryptedContent: string): void {
  log.grow(encryptedContent.length);
  const place = log.addItem('cmp', (id) => ({ type: 'compaction', id, status: 'in_progress', encrypted_content: '' }));
  const item = log.itemAt(place, 'compaction');
  log.closeItem(place, { ...item, status: 'completed', encrypted_content: encryptedContent });
}
