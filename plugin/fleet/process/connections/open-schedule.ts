/**
 * Holds connections back until their time to open. The engine sends a batch ahead of time, with a delay for each
 * connection, so that it need not wake for every one. Further commands for such a connection wait with it.
 */
import type { FleetAnswer, FleetCommand } from '../../messages.ts';

/** Delays are rounded down to steps of this length, so that the process need not wake for every connection. */
const STEP_MS = 10;

/** A command for one connection. */
export type ConnectionCommand = Extract<FleetCommand, { id: number }>;

interface Waiting {
  commands: ConnectionCommand[];
  timer: NodeJS.Timeout;
}

export class OpenSchedule {
  readonly #run: (command: ConnectionCommand) => void;
  readonly #answer: (answer: FleetAnswer) => void;
  readonly #waiting = new Map<number, Waiting>();

  /** @param run executes a command, once the time of its connection has come */
  constructor(run: (command: ConnectionCommand) => void, answer: (answer: FleetAnswer) => void) {
    this.#run = run;
    this.#answer = answer;
  }

  add(command: ConnectionCommand): void {
    const waiting = this.#waiting.get(command.id);
    if (waiting && command.op === 'close') {
      this.#cancel(command.id, waiting);
      this.#run(command);
    } else if (waiting) waiting.commands.push(command);
    else if (command.op === 'open' && (command.afterMs ?? 0) >= STEP_MS) this.#queue(command);
    else this.#run(command);
  }

  #queue(command: Extract<ConnectionCommand, { op: 'open' }>): void {
    const { id, afterMs = 0 } = command;
    const timer = setTimeout(() => this.#release(id), afterMs - (afterMs % STEP_MS));
    this.#waiting.set(id, { commands: [command], timer });
  }

  #release(id: number): void {
    const { commands = [] } = this.#waiting.get(id) ?? {};
    this.#waiting.delete(id);
    for (const command of commands) this.#run(command);
  }

  #cancel(id: number, { commands, timer }: Waiting): void {
    clearTimeout(timer);
    this.#waiting.delete(id);
    for (const command of commands) {
      if (command.op !== 'open') continue;
      const { requestId } = command;
      this.#answer({ op: 'failed', requestId, cause: 'closed', message: 'closed by the virtual user' });
    }
  }

  /** Discards what is still waiting. */
  close(): void {
    for (const { timer } of this.#waiting.values()) clearTimeout(timer);
    this.#waiting.clear();
  }
}
