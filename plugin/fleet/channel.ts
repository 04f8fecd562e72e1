/** Channels that carry commands to the code that holds connections: IPC to a child process, or calls within this process. */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { endChild } from '../../protocol/base/end-child.ts';
import type { FleetAnswer, FleetCommand, FleetStart } from './fleet-messages.ts';
import { Outbox } from './outbox.ts';
import type { Holder } from './process/holder.ts';

export interface Channel {
  readonly pid: number;
  /** Whether a batch is waiting for further commands. */
  readonly isGathering: boolean;
  /** Sends commands in order. @param canWait delays the command by some milliseconds, so that it can share a message with later ones */
  add(command: FleetCommand, canWait: boolean): void;
  /** Closes the channel; resolves when the other end has closed. Idempotent. */
  close(): Promise<void>;
}

interface ChannelEvents {
  onAnswer(answer: FleetAnswer): void;
  onEnd(error?: Error): void;
}

/** Opens a channel. The answer to request 0 says that the other end is ready. */
export type OpenChannel = (start: FleetStart, events: ChannelEvents) => Channel;

/** Longest delay of an arrival by batching; at 500/s, two or three commands then share one message. */
const FLUSH_DELAY_MS = 5;
/** Time that a child has to exit before it is killed. */
const EXIT_GRACE_MS = 2000;
const moduleSuffix = import.meta.url.endsWith('.ts') ? '.ts' : '.js';

export const toChild: OpenChannel = (start, { onAnswer, onEnd }) => {
  const child = fork(fileURLToPath(new URL(`./process/main${moduleSuffix}`, import.meta.url)), {
    serialization: 'advanced',
    // Connections live long, so a larger young generation would only cost memory.
    execArgv: ['--disable-warning=ExperimentalWarning', '--max-semi-space-size=2'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  child.send(start, () => {}); // a failed send appears as the child's exit
  child.on('message', (answers: FleetAnswer[]) => {
    for (const answer of answers) onAnswer(answer);
  });
  child.on('error', onEnd);
  child.on('exit', () => onEnd());
  return new ChildChannel(child);
};

class ChildChannel implements Channel {
  readonly #child: ChildProcess;
  readonly #outbox: Outbox<FleetCommand>;
  #closing: Promise<void> | undefined;

  constructor(child: ChildProcess) {
    this.#child = child;
    // A failed send appears as the child's exit.
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
    this.#closing ??= endChild(this.#child, () => this.add({ op: 'exit' }, false), EXIT_GRACE_MS);
    return this.#closing;
  }
}

/** Channel within this process. Commands and answers are calls, so no message delays the replies or the times of the run's own clients. */
export const toThisProcess: OpenChannel = (start, { onAnswer }) => {
  let holder: Holder | undefined;
  import('./process/holder.ts')
    .then(({ Holder }) => Holder.create(start, onAnswer))
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
