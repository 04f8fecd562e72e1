/** The deployment at a standstill is the one that the run began with, but for what a planned fault was to replace. */
import type { RunContext } from '../context.ts';
import type { WarningsOnce } from './warnings.ts';

export class DeploymentParts {
  readonly #context: RunContext;
  readonly #warnings: WarningsOnce;
  #parts: Record<string, string> = {};

  constructor(context: RunContext, warnings: WarningsOnce) {
    this.#context = context;
    this.#warnings = warnings;
  }

  async begin(): Promise<void> {
    this.#parts = await this.#context.deployment();
  }

  /**
   * What a planned fault was to replace is from now on as it is now.
   * @returns parts that were replaced as planned
   */
  async settle(isPlanned: (part: string) => boolean): Promise<string[]> {
    const now = await this.#context.deployment();
    const replaced = this.#changed(now).filter(isPlanned);
    for (const part of replaced) this.#parts[part] = now[part] as string;
    return replaced;
  }

  async check(when: string): Promise<void> {
    const now = await this.#context.deployment();
    const changed = this.#changed(now);
    if (changed.length === 0) return;
    this.#parts = { ...this.#parts, ...now };
    const message = `${when}, ${changed.join(' and ')} were reloaded, replaced or stopped since the run began`;
    this.#warnings.warn('DEPLOYMENT_CHANGED', message);
  }

  #changed(now: Record<string, string>): string[] {
    return Object.keys(this.#parts).filter((part) => part in now && now[part] !== this.#parts[part]);
  }
}
