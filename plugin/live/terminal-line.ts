/** Status line on the terminal during a run. */
import { countsBreakdown, integerText, totalOfCounts } from '../../report/text/format.ts';

const REDRAW_MS = 250;
const CLEAR_LINE = '\r\x1b[2K';
const UP = '\x1b[1A';
/** Stages of a run in which all connections are closed on purpose. */
const LEAVING = ['disconnect', 'end of the run', 'profile', 'done'];

export interface LiveFacts {
  stage: string;
  connections: {
    now: number;
    target: number;
    /** Number of failed virtual users by cause. */
    failures: Record<string, number>;
    /** Number of connections that closed before the run released them, by reason. */
    lost: Record<string, number>;
    achievedRatePerSec: number;
  };
  broadcasts: { planned: number; sent: number; received: number };
  secondsLeft: number;
}

/**
 * Status line on the terminal. It is one line below the cursor, because Artillery's spinner clears the cursor's own
 * line many times per second. It must be cleared before any other line is printed.
 */
export class LiveLine {
  readonly #stream: NodeJS.WriteStream;
  readonly #facts: () => LiveFacts;
  #timer: NodeJS.Timeout | undefined;
  #drawn = false;

  constructor(stream: NodeJS.WriteStream, facts: () => LiveFacts) {
    this.#stream = stream;
    this.#facts = facts;
  }

  start(): void {
    this.#timer ??= setInterval(() => this.#draw(), REDRAW_MS);
  }

  /** Clears the status line until it is drawn again. */
  clear(): void {
    if (this.#drawn) this.#stream.write(`\n${CLEAR_LINE}${UP}\r`);
    this.#drawn = false;
  }

  /** Idempotent. */
  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.clear();
  }

  #draw(): void {
    // A pseudo terminal without a size reports 0 columns; 80 are assumed then.
    const text = renderLive(this.#facts()).slice(0, (this.#stream.columns || 80) - 1);
    this.#stream.write(`\n${CLEAR_LINE}${text}${UP}\r`);
    this.#drawn = true;
  }
}

/** Returns the text of the status line, without control characters. */
export function renderLive({ stage, connections, broadcasts, secondsLeft }: LiveFacts): string {
  const { now, target, failures: failed, lost, achievedRatePerSec } = connections;
  const { planned, sent, received } = broadcasts;
  const [failures, losses] = [totalOfCounts(failed), totalOfCounts(lost)];
  // The status line leaves out the number of connections during the warm-up, and during broadcasts if no connection is
  // missing.
  const isCountHidden = stage === 'warm-up' || (sent > 0 && now === target);
  const isLeaving = LEAVING.includes(stage);
  return [
    `  ${stage}`,
    isLeaving && now > 0 && `${rounded(now)} still connected`,
    !isLeaving && !isCountHidden && `${rounded(now)} / ${rounded(target)} connected`,
    failures > 0 && `${rounded(failures)} failed`,
    losses > 0 && `${rounded(losses)} lost`,
    achievedRatePerSec > 0 && `${rounded(achievedRatePerSec)}/s`,
    sent > 0 && `broadcast ${sent} of ${planned}, ${rounded(received)} delivered`,
    // On a slow machine the run can take longer than planned; then no remaining time is shown.
    secondsLeft >= 1 && `about ${rounded(secondsLeft)} s left`,
    // Failures come last, because a narrow terminal cuts off the end of the line.
    ...[failed, lost].map(countsBreakdown),
  ]
    .filter(Boolean)
    .join(' · ');
}

function rounded(value: number): string {
  return integerText(Math.round(value));
}
