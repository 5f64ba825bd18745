import type { ClientRequest, IncomingMessage } from 'node:http';
import type { AnswerTimeouts } from '../chat.ts';
import { timedOut, type ConnectionPhase } from '../connection-failures.ts';

export interface Limits {
  phase(): ConnectionPhase;
  /** From now on only silence is limited, while the client is not the reason. */
  answered(answer: IncomingMessage): void;
}

export interface LimitsOptions {
  /** While its body comes, the backend is not expected to answer. */
  readonly req: IncomingMessage;
  readonly timeouts: AnswerTimeouts;
  readonly fail: (reason: unknown) => void;
}

/** Limits how long the backend of a request may take, as `connection.ts` does for its own. */
export function openLimits(sent: ClientRequest, { req, timeouts, fail }: LimitsOptions): Limits {
  const { firstByteTimeoutMs, idleTimeoutMs } = timeouts;
  let phase: ConnectionPhase = 'connecting';

  function limit(timeoutMs: number): NodeJS.Timeout {
    const limited = phase;
    const expire = (): void => (phase === limited ? fail(timedOut(phase)) : undefined);
    // The process may have stood still, and not the backend, so what has arrived is read first.
    const timer = setTimeout(() => setImmediate(expire), timeoutMs);
    sent.once('close', () => clearTimeout(timer));
    return timer;
  }

  function awaitAnswer(): void {
    phase = 'waiting';
    // A limit of the socket would start again with each byte, and a `102 Processing` is no answer.
    const timer = limit(firstByteTimeoutMs);
    req.on('data', () => timer.refresh());
  }

  const { socket } = sent;
  // That of the agent is for idle connections.
  sent.setTimeout(0);
  // One that has just been closed cannot send anything.
  if (socket?.writable !== false) awaitAnswer();

  return {
    phase: () => phase,
    answered(answer) {
      phase = 'answering';
      sent.setTimeout(idleTimeoutMs);
      sent.on('timeout', () => {
        // The client holds it up, and has a limit of its own.
        if (answer.isPaused()) return void sent.setTimeout(idleTimeoutMs);
        const bytesRead = sent.socket?.bytesRead;
        setImmediate(() => {
          if (sent.socket?.bytesRead === bytesRead) fail(timedOut(phase));
        });
      });
    },
  };
}
