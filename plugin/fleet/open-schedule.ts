/**
 * Connections whose turn to open has not come: the engine hands over some at a time and says when each is to begin, so
 * that it need not wake for every one. What a connection is told meanwhile waits with it.
 */
import type { FleetAnswer, FleetCommand } from './messages.ts';

/** OpenSchedule come in steps of this length, so that a process need not wake for every one. */
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

  /** @param run does what a connection is told, as soon as its turn has come */
  constructor(run: (command: ConnectionCommand) => void, answer: (answer: FleetAnswer) => void) {
    this.#run = run;
    this.#answer = answer;
  }

  take(command: ConnectionCommand): void {
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
    const timer = setTimeout(() => this.#admit(id), afterMs - (afterMs % STEP_MS));
    this.#waiting.set(id, { commands: [command], timer });
  }

  #admit(id: number): void {
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

  /** Forgets those that wait. */
  close(): void {
    for (const { timer } of this.#waiting.values()) clearTimeout(timer);
    this.#waiting.clear();
  }
}
