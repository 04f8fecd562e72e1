/** Channels that carry commands to the code that holds connections: IPC to a child process, or calls within this process. */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { stopChildProcess } from '../../protocol/base/stop-child-process.ts';
import type { FleetAnswer, FleetCommand, FleetStart } from './fleet-messages.ts';
import { Outbox } from './outbox.ts';
import type { ConnectionHolder } from './process/connection-holder.ts';

export interface FleetChannel {
  readonly pid: number;
  /** Whether commands are waiting in a batch that has not been sent. */
  readonly isGathering: boolean;
  /**
   * Sends commands in order.
   * @param canWait whether the command may wait some milliseconds, to share a message with later commands
   */
  add(command: FleetCommand, canWait: boolean): void;
  /** Closes the channel. Resolves when the fleet's side has closed. Idempotent. */
  close(): Promise<void>;
}

interface ChannelEvents {
  onAnswer(answer: FleetAnswer): void;
  onEnd(error?: Error): void;
}

/** Opens a channel to a fleet. The fleet answers the request with id 0 when it is ready. */
export type OpenFleetChannel = (start: FleetStart, events: ChannelEvents) => FleetChannel;

/**
 * Longest time in milliseconds that a command waits in a batch. If 500 virtual users arrive per second, two or three
 * commands share a message.
 */
const FLUSH_DELAY_MS = 5;
/** Milliseconds that a child process has to exit before it is killed. */
const EXIT_GRACE_MS = 2000;
const moduleSuffix = import.meta.url.endsWith('.ts') ? '.ts' : '.js';

export const openChildChannel: OpenFleetChannel = (start, { onAnswer, onEnd }) => {
  const child = fork(fileURLToPath(new URL(`./process/main${moduleSuffix}`, import.meta.url)), {
    serialization: 'advanced',
    // The young generation of V8's heap stays small: connections live long, so a larger one only costs memory.
    execArgv: ['--disable-warning=ExperimentalWarning', '--max-semi-space-size=2'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  child.send(start, () => {}); // A failed send is ignored: the child has exited, which is reported separately.
  child.on('message', (answers: FleetAnswer[]) => {
    for (const answer of answers) onAnswer(answer);
  });
  child.on('error', onEnd);
  child.on('exit', () => onEnd());
  return new ChildChannel(child);
};

class ChildChannel implements FleetChannel {
  readonly #child: ChildProcess;
  readonly #outbox: Outbox<FleetCommand>;
  #closing: Promise<void> | undefined;

  constructor(child: ChildProcess) {
    this.#child = child;
    // A failed send is ignored: the child has exited, which is reported separately.
    this.#outbox = new Outbox(FLUSH_DELAY_MS, (batch) => child.connected && child.send(batch, () => {}));
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get isGathering(): boolean {
    return this.#outbox.isGathering;
  }

  add(command: FleetCommand, canWait: boolean): void {
    this.#outbox.add(command, canWait);
  }

  close(): Promise<void> {
    this.#closing ??= stopChildProcess(this.#child, () => this.add({ op: 'exit' }, false), EXIT_GRACE_MS);
    return this.#closing;
  }
}

/**
 * Opens a channel within this process. Commands and answers are function calls, so messages between processes do not
 * delay the measurements with the run's own clients.
 */
export const openInProcessChannel: OpenFleetChannel = (start, { onAnswer }) => {
  let holder: ConnectionHolder | undefined;
  import('./process/connection-holder.ts')
    .then(({ ConnectionHolder }) => ConnectionHolder.create(start, onAnswer))
    .then(
      (created) => {
        holder = created;
        onAnswer({ op: 'answer', requestId: 0, answer: undefined });
      },
      ({ message }: Error) => onAnswer({ op: 'failed', requestId: 0, cause: 'fleet_dead', message }),
    );
  return {
    pid: process.pid,
    isGathering: false,
    add: (command) => holder?.run(command),
    close: async () => holder?.close(),
  };
};
