/** What a client has read of a reply so far. */
export interface Heard {
  /** 0 before the reply begins. */
  readonly status: number;
  readonly requestId: string;
  readonly text: string;
  readonly isOver: boolean;
}

/** Reads a reply while the test goes on. */
export function listen(asking: Promise<Response>): Heard {
  const heard = { status: 0, requestId: '', text: '', isOver: false };
  void read();
  return heard;

  async function read(): Promise<void> {
    const reply = await asking;
    heard.status = reply.status;
    heard.requestId = reply.headers.get('x-request-id') ?? '';
    const decoder = new TextDecoder();
    for await (const piece of reply.body ?? []) heard.text += decoder.decode(piece);
    heard.isOver = true;
  }
}
