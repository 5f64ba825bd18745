import { WebSocket } from 'ws';

/** A WebSocket whose owner can say something before it closes by itself, because it cannot read on. */
export class ClosingWebSocket extends WebSocket {
  beforeClose: ((code: number) => void) | undefined;

  override close(code?: number, reason?: string | Buffer): void {
    if (code !== undefined && this.readyState === WebSocket.OPEN) this.beforeClose?.(code);
    super.close(code, reason);
  }
}
