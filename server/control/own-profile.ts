/** V8's profilers in a worker's own process, for a run that has the token, and only where the server allows it. */
import { CapacityError } from '../../protocol/codes/errors.ts';
import { type ProfileAction, profileProcess } from '../../protocol/profiles/profile-process.ts';
import { PROFILE_LIMITS, type ProfileKind } from '../../protocol/profiles/profile-schema.ts';

export class OwnProfile {
  readonly #isAllowed: boolean;

  constructor(isAllowed: boolean) {
    this.#isAllowed = isAllowed;
  }

  /** @throws CapacityError REQUEST_FAILED where the server does not allow it */
  async request(action: ProfileAction, kind: ProfileKind): Promise<ReturnType<typeof profileProcess>> {
    if (!this.#isAllowed)
      throw new CapacityError(
        'REQUEST_FAILED',
        'it allows no profiles: give `instrument(io)` the option `profile: true`',
      );
    // Imported late: other runtimes than Node may not have the module.
    const [inspector, fs] = await Promise.all([import('node:inspector'), import('node:fs')]);
    return profileProcess({ inspector, fs }, PROFILE_LIMITS, action, kind);
  }

  /** Ends a profile that is running. Idempotent; never rejects. */
  async end(): Promise<void> {
    if (this.#isAllowed) await this.request('end', 'cpu').catch(() => {});
  }
}
