/** What looks at the deployment at standstills, and warns. */
import type { FindingCode } from '../../../protocol/codes/finding-codes.ts';
import { addWarning, type RunContext } from '../context.ts';

/** Reports each reason once: what is wrong at one standstill is usually wrong at the next ones, too. */
export class WarningsOnce {
  readonly #context: RunContext;
  readonly #given = new Set<FindingCode>();

  constructor(context: RunContext) {
    this.#context = context;
  }

  has(...codes: FindingCode[]): boolean {
    return codes.some((code) => this.#given.has(code));
  }

  warn(code: FindingCode, message: string, fix?: string): void {
    if (this.#given.has(code)) return;
    this.#given.add(code);
    addWarning(this.#context, code, message, fix);
  }
}

export class Check {
  protected readonly context: RunContext;
  protected readonly warnings: WarningsOnce;

  /** @param warnings may be those of other checks, too, which then do not say twice what is wrong */
  constructor(context: RunContext, warnings = new WarningsOnce(context)) {
    this.context = context;
    this.warnings = warnings;
  }
}
