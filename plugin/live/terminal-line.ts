/** A status line on the terminal during the run. */
import { breakdown, total } from '../../report/text/format.ts';

const REDRAW_MS = 250;
const CLEAR_LINE = '\r\x1b[2K';
const UP = '\x1b[1A';
/** Stages in which nobody is meant to stay. */
const LEAVING = ['disconnect', 'end of the run', 'done'];

export interface LiveFacts {
  stage: string;
  connected: number;
  target: number;
  /** Virtual users that failed, by cause. */
  failed: Record<string, number>;
  /** Connections that ended before their release, by reason. */
  lost: Record<string, number>;
  ratePerSec: number;
  broadcasts: { sent: number; planned: number; delivered: number };
  secondsLeft: number | undefined;
}

/**
 * Artillery's spinner clears the cursor's line many times per second, so this one is drawn one line below. Artillery emits
 * a `log` event before each line that it prints; this one is cleared first.
 */
export class LiveLine {
  readonly #stream: NodeJS.WriteStream;
  readonly #measurements: () => LiveFacts;
  #timer: NodeJS.Timeout | undefined;
  #drawn = false;

  constructor(stream: NodeJS.WriteStream, measurements: () => LiveFacts) {
    this.#stream = stream;
    this.#measurements = measurements;
  }

  start(): void {
    this.#timer ??= setInterval(() => this.#draw(), REDRAW_MS);
  }

  /** Removes the line until the next redraw. */
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
    // A pseudo terminal without a size reports 0 columns.
    const text = renderLive(this.#measurements()).slice(0, (this.#stream.columns || 80) - 1);
    this.#stream.write(`\n${CLEAR_LINE}${text}${UP}\r`);
    this.#drawn = true;
  }
}

/** @returns the line, without control characters */
export function renderLive(facts: LiveFacts): string {
  const { stage, connected, target, ratePerSec, broadcasts, secondsLeft } = facts;
  const number = (value: number) => Math.round(value).toLocaleString('en-US');
  const parts = [`  ${stage}`];
  // Those of the warm-up are none of the target; that all are still there goes without saying.
  const allStay = broadcasts.sent > 0 && connected === target;
  if (LEAVING.includes(stage)) parts.push(...(connected > 0 ? [`${number(connected)} still connected`] : []));
  else if (stage !== 'warm-up' && !allStay) parts.push(`${number(connected)} / ${number(target)} connected`);
  const bad = [facts.failed, facts.lost];
  const [failed = 0, lost = 0] = bad.map(total);
  if (failed > 0) parts.push(`${number(failed)} failed`);
  if (lost > 0) parts.push(`${number(lost)} lost`);
  if (ratePerSec > 0) parts.push(`${number(ratePerSec)}/s`);
  if (broadcasts.sent > 0) {
    parts.push(`broadcast ${broadcasts.sent} of ${broadcasts.planned}, ${number(broadcasts.delivered)} delivered`);
  }
  // The plan knows nothing of a slow machine.
  if (secondsLeft !== undefined && secondsLeft >= 1) parts.push(`about ${number(secondsLeft)} s left`);
  // Last, where a narrow terminal may cut them off.
  return [...parts, ...bad.map(breakdown).filter(Boolean)].join(' · ');
}
